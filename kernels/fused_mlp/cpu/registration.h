// The autograd layer of the CPU ops: a call that needs no gradient passes straight through; one that does goes to
// the formula registered from Python for every device.
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
inline bool needs_grad(std::string_view) { return false; }

// Forward-mode derivatives ride on the tensors; an op without a rule would drop them without a word.
inline bool has_tangent(const at::Tensor& t) { return t._fw_grad(/*level=*/0).defined(); }
inline bool has_tangent(const std::optional<at::Tensor>& t) { return t.has_value() && has_tangent(*t); }

template <typename... Arguments>
c10::DispatchKeySet keys_below(c10::DispatchKeySet keys, const Arguments&... arguments) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      !(has_tangent(arguments) || ...), "fused_mlp has no forward-mode derivative; fused_mlp.reference has");
  const c10::DispatchKeySet below = keys & c10::after_autograd_keyset;
  if (c10::GradMode::is_enabled() && (needs_grad(arguments) || ...)) {
    // The Python formula sits under the alias key Autograd, which this kernel covers for the CPU; AutogradOther is
    // a key of the same alias that leaves the backend bits as they are.
    return below.add(c10::DispatchKey::AutogradOther);
  }
  return below;
}

}  // namespace fused_mlp
