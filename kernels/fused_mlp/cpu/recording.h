// The autograd layer of the CPU ops: a call that needs no gradient passes straight through; one that does is recorded as
// a node that holds what the op of the same name "_keeping" returns, and computes its backward by the formula that
// Python registers as the op "_gradients", the same for every device.
#pragma once

#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "typed_operator.h"

namespace fused_mlp {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using MaybeTensor = std::optional<at::Tensor>;
using MaybeText = std::optional<std::string_view>;

inline bool needs_grad(const at::Tensor& t) { return t.requires_grad(); }
inline bool needs_grad(const std::optional<at::Tensor>& t) { return t.has_value() && t->requires_grad(); }

// Forward-mode derivatives ride on the tensors; an op without a rule would drop them without a word.
inline bool has_tangent(const at::Tensor& t) { return t._fw_grad(/*level=*/0).defined(); }
inline bool has_tangent(const std::optional<at::Tensor>& t) { return t.has_value() && has_tangent(*t); }

// Whether autograd records a call with these arguments.
template <typename... Arguments>
bool records_gradient(const Arguments&... arguments) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      !(has_tangent(arguments) || ...), "fused_mlp has no forward-mode derivative; fused_mlp.reference has");
  return c10::GradMode::is_enabled() && (needs_grad(arguments) || ...);
}

inline std::optional<at::Tensor> if_defined(const at::Tensor& t) {
  return t.defined() ? std::optional<at::Tensor>(t) : std::nullopt;
}

// `t` for a node to hold where its backward pass reads it, else an undefined tensor. Asked of requires_grad, not of the
// context: that also says no where a call is repeated inside a backward pass that asks for few gradients.
inline at::Tensor held_if(bool is_read, const at::Tensor& t) { return is_read ? t : at::Tensor(); }
inline at::Tensor held_if(bool is_read, const MaybeTensor& t) { return is_read && t.has_value() ? *t : at::Tensor(); }

// What a node holds for its backward pass: tensors that were not kept, read or given as undefined ones.
inline void hold(AutogradContext* ctx, variable_list held, std::string_view activation) {
  ctx->save_for_backward(std::move(held));
  ctx->saved_data["activation"] = std::string(activation);
  ctx->set_materialize_grads(false);
}

inline std::string held_activation(AutogradContext* ctx) { return ctx->saved_data["activation"].toStringRef(); }

// Which inputs want a gradient. Autograd counts the inputs that are tensors; `given` says which were.
template <size_t n>
std::array<bool, n> needed_of(AutogradContext* ctx, const std::array<bool, n>& given) {
  std::array<bool, n> needed{};
  size_t edge = 0;
  for (size_t i = 0; i < n; ++i) {
    if (given[i]) needed[i] = ctx->needs_input_grad(edge++);
  }
  return needed;
}

}  // namespace fused_mlp
