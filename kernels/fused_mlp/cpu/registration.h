// The autograd layer of the CPU ops: a call that needs no gradient passes straight through; one that does goes to
// the op of the same name that keeps what backward needs, whose formula is registered from Python for every device.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

namespace fused_mlp {

template <typename Signature>
auto typed_operator(const char* name) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Signature>();
}

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

}  // namespace fused_mlp
