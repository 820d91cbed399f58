// (act(x·Wgᵀ) ⊙ x·Wuᵀ)·Wdᵀ on the CPU. Gate and up are one product with two weights, so that x is read once and
// neither of the two reaches memory.
#include "../cpu/chain.h"
#include "../cpu/packing.h"
#include "../cpu/registration.h"

namespace fused_mlp {
namespace {

template <typename W>
void run_gated_mlp(
    const Rows<typename W::Element>& x, int64_t dim, const ChainSizes& sizes, const W& gate, const W& up,
    const W& down, Activation activation, typename W::Element* y, Split split) {
  Scratch<typename W::Left> copied;
  const auto left = left_operand<W>(x, sizes.rows, dim, copied);
  const auto first = [&](const auto& some, int64_t rows, int64_t begin, int64_t end, auto* hidden, int64_t stride) {
    gated_product<W>(some, rows, gate, up, begin, end, activation, hidden, stride);
  };
  chain<W>(sizes, left, first, down, nullptr, y, split);
}

at::Tensor gated_mlp_cpu(
    const at::Tensor& x, const at::Tensor& w_gate, const at::Tensor& w_up, const at::Tensor& w_down,
    std::string_view activation_name, std::optional<std::string_view> implementation) {
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
  at::Tensor out = output_like(x, out_features);
  if (out.numel() == 0) return out;

  const Policy& policy = policy_of(Operation::gated_mlp, x.scalar_type());
  const ChainSizes sizes{rows, hidden, out_features, 2.0 * rows * hidden * (2 * dim + out_features)};
  FUSED_MLP_DISPATCH(x.scalar_type(), {
    at::Tensor x_kept, gate_kept, up_kept, down_kept;
    const auto x_rows = rows_of<scalar_t>(x, x_kept), gate = rows_of<scalar_t>(w_gate, gate_kept);
    const auto up = rows_of<scalar_t>(w_up, up_kept), down = rows_of<scalar_t>(w_down, down_kept);
    scalar_t* y = out.mutable_data_ptr<scalar_t>();
    if (repacks(policy, rows)) {
      using W = RepackedWeights<scalar_t>;
      run_gated_mlp<W>(x_rows, dim, sizes, W(gate, dim), W(up, dim), W(down, hidden), activation, y, Split::columns);
    } else {
      using W = PlainWeights<scalar_t>;
      run_gated_mlp<W>(
          x_rows, dim, sizes, W{gate, dim}, W{up, dim}, W{down, hidden}, activation, y,
          split_for(policy, rows, sizes.flop));
    }
  })
  return out;
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
        rows_of<scalar_t>(x, x_kept), dim, sizes, packed_of<scalar_t>(w_gate, dim), packed_of<scalar_t>(w_up, dim),
        packed_of<scalar_t>(w_down, hidden), activation, out.mutable_data_ptr<scalar_t>(),
        split_for(policy, rows, sizes.flop));
  })
  return out;
}

using GatedMlp = at::Tensor(
    const at::Tensor&, const at::Tensor&, const at::Tensor&, const at::Tensor&, std::string_view,
    std::optional<std::string_view>);

at::Tensor gated_mlp_autograd(
    c10::DispatchKeySet keys, const at::Tensor& x, const at::Tensor& w_gate, const at::Tensor& w_up,
    const at::Tensor& w_down, std::string_view activation, std::optional<std::string_view> implementation) {
  static const auto op = typed_operator<GatedMlp>("fused_mlp::gated_mlp");
  return op.redispatch(keys_below(keys, x, w_gate, w_up, w_down), x, w_gate, w_up, w_down, activation, implementation);
}

}  // namespace

TORCH_LIBRARY_IMPL(fused_mlp, CPU, m) {
  m.impl("gated_mlp", gated_mlp_cpu);
  m.impl("gated_mlp_packed", gated_mlp_packed_cpu);
}
TORCH_LIBRARY_IMPL(fused_mlp, AutogradCPU, m) { m.impl("gated_mlp", gated_mlp_autograd); }

}  // namespace fused_mlp
