// The autograd layer of (act(x·Wgᵀ) ⊙ x·Wuᵀ)·Wdᵀ on the CPU.
#include "../cpu/arguments.h"
#include "../cpu/recording.h"

namespace fused_mlp {
namespace {

template <typename Result>
using GatedMlp = Result(
    const at::Tensor&, const at::Tensor&, const at::Tensor&, const at::Tensor&, std::string_view,
    MaybeText, MaybeText);

class GatedMlpNode : public torch::autograd::Function<GatedMlpNode> {
 public:
  static constexpr bool is_traceable = true;

  static variable_list forward(
      AutogradContext* ctx, const at::Tensor& x, const at::Tensor& w_gate, const at::Tensor& w_up,
      const at::Tensor& w_down, std::string_view activation, MaybeText implementation,
      MaybeText recompute) {
    static const auto keeping = typed_operator<GatedMlp<GatedMlpKept>>("fused_mlp::gated_mlp_keeping");
    const auto [y, z, up, hidden] = [&] {
      at::AutoDispatchBelowAutograd below;
      return keeping.call(x, w_gate, w_up, w_down, activation, implementation, recompute);
    }();
    const Keep keep = keep_from_recompute(recompute);
    const bool keeps_hidden = keep == Keep::z_and_hidden, needs_first = needs_grad(w_gate) || needs_grad(w_up);
    const bool needs_z = needs_grad(x) || needs_first || !keeps_hidden;
    const bool repeats_z = needs_z && keep == Keep::nothing, keeps_z = needs_z && !repeats_z;
    hold(
        ctx,
        {held_if(needs_first || repeats_z, x), held_if(needs_grad(x) || repeats_z, w_gate),
         held_if(needs_grad(x) || repeats_z, w_up), held_if(needs_grad(x) || needs_first, w_down), held_if(keeps_z, z),
         held_if(keeps_z, up), held_if(needs_grad(w_down) && keeps_hidden, hidden)},
        activation);
    ctx->saved_data["keeps_hidden"] = keeps_hidden;
    return {y, z, up, hidden};
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    using Formula = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor>(
        const MaybeTensor&, const MaybeTensor&, const MaybeTensor&, const MaybeTensor&, const MaybeTensor&,
        const MaybeTensor&, const MaybeTensor&, const MaybeTensor&, const MaybeTensor&, const MaybeTensor&,
        const MaybeTensor&, std::string_view, std::array<bool, 4>);
    static const auto formula = typed_operator<Formula>("fused_mlp::gated_mlp_gradients");
    const auto held = ctx->get_saved_variables();
    const auto z = if_defined(held[4]), up = if_defined(held[5]), hidden = if_defined(held[6]);
    auto [dx, d_gate, d_up, d_down] = formula.call(
        if_defined(grads[0]), z ? if_defined(grads[1]) : std::nullopt, up ? if_defined(grads[2]) : std::nullopt,
        ctx->saved_data["keeps_hidden"].toBool() ? if_defined(grads[3]) : std::nullopt, if_defined(held[0]),
        if_defined(held[1]), if_defined(held[2]), if_defined(held[3]), z, up, hidden, held_activation(ctx),
        needed_of<4>(ctx, {true, true, true, true}));
    return {dx, d_gate, d_up, d_down, {}, {}, {}};
  }
};

at::Tensor gated_mlp_autograd(
    c10::DispatchKeySet keys, const at::Tensor& x, const at::Tensor& w_gate, const at::Tensor& w_up,
    const at::Tensor& w_down, std::string_view activation, MaybeText implementation,
    MaybeText recompute) {
  static const auto op = typed_operator<GatedMlp<at::Tensor>>("fused_mlp::gated_mlp");
  if (records_gradient(x, w_gate, w_up, w_down)) {
    return GatedMlpNode::apply(x, w_gate, w_up, w_down, activation, implementation, recompute)[0];
  }
  return op.redispatch(
      keys & c10::after_autograd_keyset, x, w_gate, w_up, w_down, activation, implementation, recompute);
}

GatedMlpKept gated_mlp_keeping_autograd(
    c10::DispatchKeySet keys, const at::Tensor& x, const at::Tensor& w_gate, const at::Tensor& w_up,
    const at::Tensor& w_down, std::string_view activation, MaybeText implementation,
    MaybeText recompute) {
  static const auto op = typed_operator<GatedMlp<GatedMlpKept>>("fused_mlp::gated_mlp_keeping");
  if (!records_gradient(x, w_gate, w_up, w_down)) {
    return op.redispatch(
        keys & c10::after_autograd_keyset, x, w_gate, w_up, w_down, activation, implementation, recompute);
  }
  const auto results = GatedMlpNode::apply(x, w_gate, w_up, w_down, activation, implementation, recompute);
  return {results[0], results[1], results[2], results[3]};
}

}  // namespace

TORCH_LIBRARY_IMPL(fused_mlp, AutogradCPU, m) {
  m.impl("gated_mlp", gated_mlp_autograd);
  m.impl("gated_mlp_keeping", gated_mlp_keeping_autograd);
}

}  // namespace fused_mlp
