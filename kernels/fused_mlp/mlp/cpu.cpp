// act(x·W1ᵀ + b1)·W2ᵀ + b2 on the CPU. With many rows each thread takes some of them through both products, its
// hidden tile staying in the second-level cache; with few, the threads share the columns of one product, then of
// the other.
#include "../cpu/arguments.h"
#include "../cpu/registration.h"

namespace fused_mlp {
namespace {

at::Tensor mlp_cpu(
    const at::Tensor& x, const at::Tensor& w1, const std::optional<at::Tensor>& b1, const at::Tensor& w2,
    const std::optional<at::Tensor>& b2, std::string_view activation_name) {
  const Activation activation = activation_from_name(activation_name);
  TORCH_CHECK_VALUE(x.dim() >= 1, "x has no dimension; expected [..., dim]");
  const int64_t dim = x.size(-1), rows = row_count(x);
  check_weight(w1, "w1", x, dim);
  const int64_t hidden = w1.size(0);
  check_weight(w2, "w2", x, hidden);
  const int64_t out_features = w2.size(0);
  check_bias(b1, "b1", x, hidden);
  check_bias(b2, "b2", x, out_features);
  at::Tensor out = output_like(x, out_features);
  if (out.numel() == 0) return out;

  FUSED_MLP_DISPATCH(x.scalar_type(), {
    at::Tensor x_kept, w1_kept, w2_kept, b1_kept, b2_kept;
    const auto x_rows = rows_of<scalar_t>(x, x_kept);
    const auto w1_rows = rows_of<scalar_t>(w1, w1_kept), w2_rows = rows_of<scalar_t>(w2, w2_kept);
    const scalar_t* bias1 = bias_of<scalar_t>(b1, b1_kept);
    const scalar_t* bias2 = bias_of<scalar_t>(b2, b2_kept);
    scalar_t* y = out.mutable_data_ptr<scalar_t>();

    const auto some_rows = [&](int64_t begin, int64_t end) {
      const int64_t block = hidden_tile_rows<scalar_t>(hidden);
      Scratch<scalar_t> tile(std::min(block, end - begin) * hidden);
      for (int64_t r = begin; r < end; r += block) {
        const int64_t n = std::min(block, end - r);
        product<scalar_t>(
            {x_rows.row(r), x_rows.stride}, n, w1_rows, bias1, dim, 0, hidden, activation, tile.data(), hidden);
        product<scalar_t>(
            {tile.data(), hidden}, n, w2_rows, bias2, hidden, 0, out_features, Activation::none,
            y + r * out_features, out_features);
      }
    };
    switch (split_for(rows, 2.0 * rows * hidden * (dim + out_features))) {
      case Split::serial: some_rows(0, rows); break;
      case Split::rows: share(rows, tile_rows, some_rows); break;
      case Split::columns: {
        Scratch<scalar_t> whole(rows * hidden);
        share(hidden, 16, [&](int64_t begin, int64_t end) {
          product<scalar_t>(x_rows, rows, w1_rows, bias1, dim, begin, end, activation, whole.data(), hidden);
        });
        share(out_features, 16, [&](int64_t begin, int64_t end) {
          product<scalar_t>(
              {whole.data(), hidden}, rows, w2_rows, bias2, hidden, begin, end, Activation::none, y, out_features);
        });
        break;
      }
    }
  })
  return out;
}

using Mlp = at::Tensor(
    const at::Tensor&, const at::Tensor&, const std::optional<at::Tensor>&, const at::Tensor&,
    const std::optional<at::Tensor>&, std::string_view);

at::Tensor mlp_autograd(
    c10::DispatchKeySet keys, const at::Tensor& x, const at::Tensor& w1, const std::optional<at::Tensor>& b1,
    const at::Tensor& w2, const std::optional<at::Tensor>& b2, std::string_view activation) {
  static const auto op = typed_operator<Mlp>("fused_mlp::mlp");
  return op.redispatch(keys_below(keys, x, w1, b1, w2, b2), x, w1, b1, w2, b2, activation);
}

}  // namespace

TORCH_LIBRARY_IMPL(fused_mlp, CPU, m) { m.impl("mlp", mlp_cpu); }
TORCH_LIBRARY_IMPL(fused_mlp, AutogradCPU, m) { m.impl("mlp", mlp_autograd); }

}  // namespace fused_mlp
