// Ops by their names and signatures.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

namespace fused_mlp {

template <typename Signature>
auto typed_operator(const char* name, const char* overload = "") {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, overload).typed<Signature>();
}

}  // namespace fused_mlp
