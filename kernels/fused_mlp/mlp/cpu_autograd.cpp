// The autograd layer of act(x·W1ᵀ + b1)·W2ᵀ + b2 on the CPU.
#include "../cpu/arguments.h"
#include "../cpu/recording.h"

namespace fused_mlp {
namespace {

template <typename Result>
using Mlp = Result(
    const at::Tensor&, const at::Tensor&, const MaybeTensor&, const at::Tensor&,
    const MaybeTensor&, std::string_view, MaybeText, MaybeText);

class MlpNode : public torch::autograd::Function<MlpNode> {
 public:
  static constexpr bool is_traceable = true;

  static variable_list forward(
      AutogradContext* ctx, const at::Tensor& x, const at::Tensor& w1, const MaybeTensor& b1, const at::Tensor& w2,
      const MaybeTensor& b2, std::string_view activation, MaybeText implementation,
      MaybeText recompute) {
    static const auto keeping = typed_operator<Mlp<MlpKept>>("fused_mlp::mlp_keeping");
    const auto [y, z, hidden] = [&] {
      at::AutoDispatchBelowAutograd below;
      return keeping.call(x, w1, b1, w2, b2, activation, implementation, recompute);
    }();
    const Keep keep = keep_from_recompute(recompute);
    const bool keeps_hidden = keep == Keep::z_and_hidden, needs_dz = needs_grad(x) || needs_grad(w1) || needs_grad(b1);
    const bool needs_z = needs_dz || (needs_grad(w2) && !keeps_hidden);
    const bool repeats_z = needs_z && keep == Keep::nothing;
    hold(
        ctx,
        {held_if(needs_grad(w1) || repeats_z, x), held_if(needs_grad(x) || repeats_z, w1), held_if(repeats_z, b1),
         held_if(needs_dz, w2), held_if(needs_z && !repeats_z, z), held_if(needs_grad(w2) && keeps_hidden, hidden)},
        activation);
    ctx->saved_data["keeps_hidden"] = keeps_hidden;
    ctx->saved_data["has_bias1"] = b1.has_value();
    ctx->saved_data["has_bias2"] = b2.has_value();
    return {y, z, hidden};
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    using Formula = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor>(
        const MaybeTensor&, const MaybeTensor&, const MaybeTensor&, const MaybeTensor&, const MaybeTensor&,
        const MaybeTensor&, const MaybeTensor&, const MaybeTensor&, const MaybeTensor&, std::string_view,
        std::array<bool, 5>);
    static const auto formula = typed_operator<Formula>("fused_mlp::mlp_gradients");
    const auto held = ctx->get_saved_variables();
    const auto z = if_defined(held[4]), hidden = if_defined(held[5]);
    const auto needed = needed_of<5>(
        ctx, {true, true, ctx->saved_data["has_bias1"].toBool(), true, ctx->saved_data["has_bias2"].toBool()});
    auto [dx, dw1, db1, dw2, db2] = formula.call(
        if_defined(grads[0]), z ? if_defined(grads[1]) : std::nullopt,
        ctx->saved_data["keeps_hidden"].toBool() ? if_defined(grads[2]) : std::nullopt, if_defined(held[0]),
        if_defined(held[1]), if_defined(held[2]), if_defined(held[3]), z, hidden, held_activation(ctx), needed);
    return {dx, dw1, db1, dw2, db2, {}, {}, {}};
  }
};

at::Tensor mlp_autograd(
    c10::DispatchKeySet keys, const at::Tensor& x, const at::Tensor& w1, const MaybeTensor& b1, const at::Tensor& w2,
    const MaybeTensor& b2, std::string_view activation, MaybeText implementation,
    MaybeText recompute) {
  static const auto op = typed_operator<Mlp<at::Tensor>>("fused_mlp::mlp");
  if (records_gradient(x, w1, b1, w2, b2)) {
    return MlpNode::apply(x, w1, b1, w2, b2, activation, implementation, recompute)[0];
  }
  return op.redispatch(keys & c10::after_autograd_keyset, x, w1, b1, w2, b2, activation, implementation, recompute);
}

MlpKept mlp_keeping_autograd(
    c10::DispatchKeySet keys, const at::Tensor& x, const at::Tensor& w1, const MaybeTensor& b1, const at::Tensor& w2,
    const MaybeTensor& b2, std::string_view activation, MaybeText implementation,
    MaybeText recompute) {
  static const auto op = typed_operator<Mlp<MlpKept>>("fused_mlp::mlp_keeping");
  if (!records_gradient(x, w1, b1, w2, b2)) {
    return op.redispatch(keys & c10::after_autograd_keyset, x, w1, b1, w2, b2, activation, implementation, recompute);
  }
  const auto results = MlpNode::apply(x, w1, b1, w2, b2, activation, implementation, recompute);
  return {results[0], results[1], results[2]};
}

}  // namespace

TORCH_LIBRARY_IMPL(fused_mlp, AutogradCPU, m) {
  m.impl("mlp", mlp_autograd);
  m.impl("mlp_keeping", mlp_keeping_autograd);
}

}  // namespace fused_mlp
