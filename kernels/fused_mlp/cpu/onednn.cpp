// The operations by torch's own calls of oneDNN's fused linear, one op each instead of one per product.
#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <torch/library.h>

#include "typed_operator.h"

namespace fused_mlp {
namespace {

using MaybeBias = std::optional<at::Tensor>;

struct Pointwise {
  std::string_view attribute, algorithm;
};

// oneDNN's names of the activations.
Pointwise pointwise_from_name(std::string_view name) {
  if (name == "none") return {"none", ""};
  if (name == "relu") return {"relu", ""};
  if (name == "gelu") return {"gelu", "none"};
  if (name == "gelu_tanh") return {"gelu", "tanh"};
  if (name == "silu") return {"swish", ""};
  TORCH_CHECK_VALUE(
      false, "activation is '", std::string(name), "'; expected none, relu, gelu, gelu_tanh, silu or quick_gelu");
}

// oneDNN has none: in passes of its own, rounded to the dtype of z once.
at::Tensor quick_gelu(const at::Tensor& z) {
  const at::Tensor wide = z.to(at::kFloat);
  return (wide * at::sigmoid(1.702 * wide)).to(z.scalar_type());
}

at::Tensor fused_product(const at::Tensor& x, const at::Tensor& w, const MaybeBias& b, std::string_view activation) {
  if (activation == "quick_gelu") return quick_gelu(fused_product(x, w, b, "none"));
  using Op = at::Tensor(
      const at::Tensor&, const at::Tensor&, const MaybeBias&, std::string_view, c10::List<std::optional<at::Scalar>>,
      std::optional<std::string_view>);
  static const auto op = typed_operator<Op>("mkldnn::_linear_pointwise");
  const auto [attribute, algorithm] = pointwise_from_name(activation);
  return op.call(x, w, b, attribute, c10::List<std::optional<at::Scalar>>(), algorithm);
}

at::Tensor fused_product_times(const at::Tensor& x, const at::Tensor& w, const at::Tensor& factor) {
  using Op =
      at::Tensor(const at::Tensor&, const at::Tensor&, const at::Tensor&, const MaybeBias&, std::string_view);
  static const auto op = typed_operator<Op>("mkldnn::_linear_pointwise", "binary");
  return op.call(x, factor, w, std::nullopt, "mul");
}

void check_records_nothing(const at::Tensor& x) {
  TORCH_CHECK_VALUE(
      !(c10::GradMode::is_enabled() && x.requires_grad()),
      "x requires a gradient; expected none: packed weights are for inference");
}

at::Tensor linear_onednn(
    const at::Tensor& x, const at::Tensor& w, const MaybeBias& b, std::string_view activation) {
  check_records_nothing(x);
  return fused_product(x, w, b, activation);
}

at::Tensor mlp_onednn(
    const at::Tensor& x, const at::Tensor& w1, const MaybeBias& b1, const at::Tensor& w2, const MaybeBias& b2,
    std::string_view activation) {
  check_records_nothing(x);
  return fused_product(fused_product(x, w1, b1, activation), w2, b2, "none");
}

at::Tensor gated_mlp_onednn(
    const at::Tensor& x, const at::Tensor& w_gate, const at::Tensor& w_up, const at::Tensor& w_down,
    std::string_view activation) {
  check_records_nothing(x);
  return fused_product(fused_product_times(x, w_up, fused_product(x, w_gate, std::nullopt, activation)), w_down, std::nullopt, "none");
}

}  // namespace

// The packed weights are tensors of this key.
TORCH_LIBRARY_IMPL(fused_mlp, MkldnnCPU, m) {
  m.impl("linear_onednn", linear_onednn);
  m.impl("mlp_onednn", mlp_onednn);
  m.impl("gated_mlp_onednn", gated_mlp_onednn);
}

}  // namespace fused_mlp
