// (act(x·Wgᵀ) ⊙ x·Wuᵀ)·Wdᵀ on the CPU. Gate and up are one product with two weights, so that x is read once and
// neither of the two reaches memory.
#include <torch/library.h>

#include "../cpu/chain.h"
#include "../cpu/packing.h"

namespace fused_mlp {
namespace {

template <typename W>
void run_gated_mlp(
    const Rows<typename W::Element>& x, int64_t dim, const ChainSizes& sizes, const W& gate, const W& up,
    const W& down, Activation activation, typename W::Element* y, Split split,
    const Kept<typename W::Element>& kept = {}) {
  const auto first = [&](int64_t r, const auto& some, int64_t rows, int64_t begin, int64_t end, auto* hidden,
                         int64_t stride) {
    gated_product<W>(some, rows, gate, up, begin, end, activation, hidden, stride, kept.from_row(r));
  };
  chain<W>(sizes, x, dim, first, down, nullptr, y, split);
}

// (y, z, up, hidden): z = x·Wgᵀ, up = x·Wuᵀ and hidden = act(z)·up where they are kept.
using GatedMlpKept = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor>;

GatedMlpKept gated_mlp_with_kept(
    const at::Tensor& x, const at::Tensor& w_gate, const at::Tensor& w_up, const at::Tensor& w_down,
    std::string_view activation_name, std::optional<std::string_view> implementation, Keep keep) {
  const Activation activation = activation_from_name(activation_name);
  check_implementation(implementation);
  check_input(x);
  const int64_t dim = x.size(-1), rows = row_count(x);
  check_weight(w_gate, "w_gate", x, dim);
  check_weight(w_up, "w_up", x, dim);
  const int64_t hidden = w_gate.size(0);
  TORCH_CHECK_VALUE(
      w_up.size(0) == hidden, "w_up has shape ", w_up.sizes(), "; expected ", w_gate.sizes(), " as w_gate");
  check_weight(w_down, "w_down", x, hidden);
  const int64_t out_features = w_down.size(0);
  const bool keep_z = keep != Keep::nothing, keep_hidden = keep == Keep::z_and_hidden;
  at::Tensor out = output_like(x, out_features);
  at::Tensor z = kept_like(x, hidden, keep_z), u = kept_like(x, hidden, keep_z);
  at::Tensor h = kept_like(x, hidden, keep_hidden);
  if (out.numel() == 0) return {out, z.zero_(), u.zero_(), h.zero_()};

  const Policy& policy = policy_of(Operation::gated_mlp, x.scalar_type());
  const ChainSizes sizes{rows, hidden, out_features, 2.0 * rows * hidden * (2 * dim + out_features)};
  FUSED_MLP_DISPATCH(x.scalar_type(), {
    const Kept<scalar_t> kept{
        kept_data<scalar_t>(z, keep_z), kept_data<scalar_t>(u, keep_z), kept_data<scalar_t>(h, keep_hidden), hidden};
    at::Tensor x_kept, gate_kept, up_kept, down_kept;
    const auto x_rows = rows_of<scalar_t>(x, x_kept), gate = rows_of<scalar_t>(w_gate, gate_kept);
    const auto up = rows_of<scalar_t>(w_up, up_kept), down = rows_of<scalar_t>(w_down, down_kept);
    scalar_t* y = out.mutable_data_ptr<scalar_t>();
    if (repacks(policy, rows)) {
      using W = RepackedWeights<scalar_t>;
      run_gated_mlp<W>(
          x_rows, dim, sizes, W(gate, dim), W(up, dim), W(down, hidden), activation, y, Split::columns, kept);
    } else {
      using W = PlainWeights<scalar_t>;
      run_gated_mlp<W>(
          x_rows, dim, sizes, W{gate, dim}, W{up, dim}, W{down, hidden}, activation, y,
          split_for(policy, rows, sizes.flop), kept);
    }
  })
  return {out, z, u, h};
}

at::Tensor gated_mlp_cpu(
    const at::Tensor& x, const at::Tensor& w_gate, const at::Tensor& w_up, const at::Tensor& w_down,
    std::string_view activation, std::optional<std::string_view> implementation, std::optional<std::string_view>) {
  return std::get<0>(gated_mlp_with_kept(x, w_gate, w_up, w_down, activation, implementation, Keep::nothing));
}

GatedMlpKept gated_mlp_keeping_cpu(
    const at::Tensor& x, const at::Tensor& w_gate, const at::Tensor& w_up, const at::Tensor& w_down,
    std::string_view activation, std::optional<std::string_view> implementation, std::optional<std::string_view> recompute) {
  return gated_mlp_with_kept(x, w_gate, w_up, w_down, activation, implementation, keep_from_recompute(recompute));
}

at::Tensor gated_mlp_packed_cpu(
    const at::Tensor& x, const at::Tensor& w_gate, const at::Tensor& w_up, const at::Tensor& w_down,
    std::string_view activation_name, int64_t hidden, int64_t out_features) {
  const Activation activation = activation_from_name(activation_name);
  check_input(x);
  const int64_t dim = x.size(-1), rows = row_count(x);
  check_packed(w_gate, "w_gate", x, dim, hidden);
  check_packed(w_up, "w_up", x, dim, hidden);
  check_packed(w_down, "w_down", x, hidden, out_features);
  at::Tensor out = output_like(x, out_features);
  if (out.numel() == 0) return out;

  const Policy& policy = policy_of(Operation::gated_mlp, x.scalar_type());
  const ChainSizes sizes{rows, hidden, out_features, 2.0 * rows * hidden * (2 * dim + out_features)};
  FUSED_MLP_DISPATCH(x.scalar_type(), {
    at::Tensor x_kept;
    run_gated_mlp<PackedWeights<scalar_t>>(
        rows_of<scalar_t>(x, x_kept), dim, sizes, packed_of<scalar_t>(w_gate, dim, rows), packed_of<scalar_t>(w_up, dim, rows),
        packed_of<scalar_t>(w_down, hidden, rows), activation, out.mutable_data_ptr<scalar_t>(),
        split_for(policy, rows, sizes.flop));
  })
  return out;
}

}  // namespace

TORCH_LIBRARY_IMPL(fused_mlp, CPU, m) {
  m.impl("gated_mlp", gated_mlp_cpu);
  m.impl("gated_mlp_keeping", gated_mlp_keeping_cpu);
  m.impl("gated_mlp_packed", gated_mlp_packed_cpu);
}

}  // namespace fused_mlp
