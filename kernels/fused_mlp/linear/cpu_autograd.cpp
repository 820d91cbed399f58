// The autograd layer of act(x·Wᵀ + b) on the CPU.
#include "../cpu/arguments.h"
#include "../cpu/recording.h"

namespace fused_mlp {
namespace {

template <typename Result>
using Linear = Result(
    const at::Tensor&, const at::Tensor&, const MaybeTensor&, std::string_view,
    MaybeText, MaybeText);
using LinearKept = std::tuple<at::Tensor, at::Tensor>;

class LinearNode : public torch::autograd::Function<LinearNode> {
 public:
  static constexpr bool is_traceable = true;

  static variable_list forward(
      AutogradContext* ctx, const at::Tensor& x, const at::Tensor& w, const MaybeTensor& b, std::string_view activation,
      MaybeText implementation, MaybeText recompute) {
    static const auto keeping = typed_operator<Linear<LinearKept>>("fused_mlp::linear_keeping");
    const auto [y, z] = [&] {
      at::AutoDispatchBelowAutograd below;
      return keeping.call(x, w, b, activation, implementation, recompute);
    }();
    const bool is_activated = activation != "none";
    const bool keeps_z = is_activated && keep_from_recompute(recompute) != Keep::nothing;
    const bool repeats_z = is_activated && !keeps_z;
    hold(
        ctx,
        {held_if(needs_grad(w) || repeats_z, x), held_if(needs_grad(x) || repeats_z, w), held_if(repeats_z, b),
         held_if(keeps_z, z)},
        activation);
    ctx->saved_data["has_bias"] = b.has_value();
    return {y, z};
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    using Formula = std::tuple<at::Tensor, at::Tensor, at::Tensor>(
        const MaybeTensor&, const MaybeTensor&, const MaybeTensor&, const MaybeTensor&, const MaybeTensor&,
        const MaybeTensor&, std::string_view, std::array<bool, 3>);
    static const auto formula = typed_operator<Formula>("fused_mlp::linear_gradients");
    const auto held = ctx->get_saved_variables();
    const auto z = if_defined(held[3]);
    auto [dx, dw, db] = formula.call(
        if_defined(grads[0]), z ? if_defined(grads[1]) : std::nullopt, if_defined(held[0]), if_defined(held[1]),
        if_defined(held[2]), z, held_activation(ctx), needed_of<3>(ctx, {true, true, ctx->saved_data["has_bias"].toBool()}));
    return {dx, dw, db, {}, {}, {}};
  }
};

at::Tensor linear_autograd(
    c10::DispatchKeySet keys, const at::Tensor& x, const at::Tensor& w, const MaybeTensor& b,
    std::string_view activation, MaybeText implementation, MaybeText recompute) {
  static const auto op = typed_operator<Linear<at::Tensor>>("fused_mlp::linear");
  if (records_gradient(x, w, b)) return LinearNode::apply(x, w, b, activation, implementation, recompute)[0];
  return op.redispatch(keys & c10::after_autograd_keyset, x, w, b, activation, implementation, recompute);
}

LinearKept linear_keeping_autograd(
    c10::DispatchKeySet keys, const at::Tensor& x, const at::Tensor& w, const MaybeTensor& b,
    std::string_view activation, MaybeText implementation, MaybeText recompute) {
  static const auto op = typed_operator<Linear<LinearKept>>("fused_mlp::linear_keeping");
  if (!records_gradient(x, w, b)) {
    return op.redispatch(keys & c10::after_autograd_keyset, x, w, b, activation, implementation, recompute);
  }
  const auto results = LinearNode::apply(x, w, b, activation, implementation, recompute);
  return {results[0], results[1]};
}

}  // namespace

TORCH_LIBRARY_IMPL(fused_mlp, AutogradCPU, m) {
  m.impl("linear", linear_autograd);
  m.impl("linear_keeping", linear_keeping_autograd);
}

}  // namespace fused_mlp
