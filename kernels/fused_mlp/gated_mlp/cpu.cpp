// (act(x·Wgᵀ) ⊙ x·Wuᵀ)·Wdᵀ on the CPU. Gate and up are one product with two weights, so that x is read once and
// neither of the two reaches memory; rows and columns are shared between threads as in mlp.
#include "../cpu/arguments.h"
#include "../cpu/registration.h"

namespace fused_mlp {
namespace {

at::Tensor gated_mlp_cpu(
    const at::Tensor& x, const at::Tensor& w_gate, const at::Tensor& w_up, const at::Tensor& w_down,
    std::string_view activation_name) {
  const Activation activation = activation_from_name(activation_name);
  TORCH_CHECK_VALUE(x.dim() >= 1, "x has no dimension; expected [..., dim]");
  const int64_t dim = x.size(-1), rows = row_count(x);
  check_weight(w_gate, "w_gate", x, dim);
  check_weight(w_up, "w_up", x, dim);
  const int64_t hidden = w_gate.size(0);
  TORCH_CHECK_VALUE(
      w_up.size(0) == hidden, "w_up has shape ", w_up.sizes(), "; expected ", w_gate.sizes(), " as w_gate");
  check_weight(w_down, "w_down", x, hidden);
  const int64_t out_features = w_down.size(0);
  at::Tensor out = output_like(x, out_features);
  if (out.numel() == 0) return out;

  FUSED_MLP_DISPATCH(x.scalar_type(), {
    at::Tensor x_kept, gate_kept, up_kept, down_kept;
    const auto x_rows = rows_of<scalar_t>(x, x_kept), gate = rows_of<scalar_t>(w_gate, gate_kept);
    const auto up = rows_of<scalar_t>(w_up, up_kept), down = rows_of<scalar_t>(w_down, down_kept);
    scalar_t* y = out.mutable_data_ptr<scalar_t>();

    const auto some_rows = [&](int64_t begin, int64_t end) {
      const int64_t block = hidden_tile_rows<scalar_t>(hidden);
      Scratch<scalar_t> tile(std::min(block, end - begin) * hidden);
      for (int64_t r = begin; r < end; r += block) {
        const int64_t n = std::min(block, end - r);
        gated_product<scalar_t>(
            {x_rows.row(r), x_rows.stride}, n, gate, up, dim, 0, hidden, activation, tile.data(), hidden);
        product<scalar_t>(
            {tile.data(), hidden}, n, down, nullptr, hidden, 0, out_features, Activation::none, y + r * out_features,
            out_features);
      }
    };
    switch (split_for(rows, 2.0 * rows * hidden * (2 * dim + out_features))) {
      case Split::serial: some_rows(0, rows); break;
      case Split::rows: share(rows, tile_rows, some_rows); break;
      case Split::columns: {
        Scratch<scalar_t> whole(rows * hidden);
        share(hidden, 16, [&](int64_t begin, int64_t end) {
          gated_product<scalar_t>(x_rows, rows, gate, up, dim, begin, end, activation, whole.data(), hidden);
        });
        share(out_features, 16, [&](int64_t begin, int64_t end) {
          product<scalar_t>(
              {whole.data(), hidden}, rows, down, nullptr, hidden, begin, end, Activation::none, y, out_features);
        });
        break;
      }
    }
  })
  return out;
}

using GatedMlp = at::Tensor(
    const at::Tensor&, const at::Tensor&, const at::Tensor&, const at::Tensor&, std::string_view);

at::Tensor gated_mlp_autograd(
    c10::DispatchKeySet keys, const at::Tensor& x, const at::Tensor& w_gate, const at::Tensor& w_up,
    const at::Tensor& w_down, std::string_view activation) {
  static const auto op = typed_operator<GatedMlp>("fused_mlp::gated_mlp");
  return op.redispatch(keys_below(keys, x, w_gate, w_up, w_down), x, w_gate, w_up, w_down, activation);
}

}  // namespace

TORCH_LIBRARY_IMPL(fused_mlp, CPU, m) { m.impl("gated_mlp", gated_mlp_cpu); }
TORCH_LIBRARY_IMPL(fused_mlp, AutogradCPU, m) { m.impl("gated_mlp", gated_mlp_autograd); }

}  // namespace fused_mlp
