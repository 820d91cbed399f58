// The activations, on vectors of float32, as the reference states them.
#pragma once

#include <ATen/cpu/vec/functional.h>
#include <ATen/cpu/vec/vec.h>
#include <c10/util/Exception.h>

#include <string_view>

namespace fused_mlp {

using Vec = at::vec::Vectorized<float>;

enum class Activation { none, relu, gelu, gelu_tanh, silu };

inline Activation activation_from_name(std::string_view name) {
  if (name == "gelu") return Activation::gelu;
  if (name == "silu") return Activation::silu;
  if (name == "relu") return Activation::relu;
  if (name == "gelu_tanh") return Activation::gelu_tanh;
  TORCH_CHECK_VALUE(name == "none", "activation is '", name, "'; expected none, relu, gelu, gelu_tanh or silu");
  return Activation::none;
}

inline Vec sigmoid(const Vec& x) {
  return Vec(1.0f) / (Vec(1.0f) + x.neg().exp());
}

template <Activation activation>
inline Vec activate(const Vec& x) {
  if constexpr (activation == Activation::relu) {
    return at::vec::maximum(x, Vec(0.0f));
  } else if constexpr (activation == Activation::gelu) {
    return x * Vec(0.5f) * (Vec(1.0f) + (x * Vec(0.70710678118654752440f)).erf());
  } else if constexpr (activation == Activation::gelu_tanh) {
    // 0.5·(1 + tanh(u)) = sigmoid(2u): one exponential instead of a hyperbolic tangent.
    const Vec cubic = x * x * x;
    const Vec twice_u = Vec(1.5957691216057308f) * at::vec::fmadd(cubic, Vec(0.044715f), x);
    return x * sigmoid(twice_u);
  } else if constexpr (activation == Activation::silu) {
    return x * sigmoid(x);
  } else {
    return x;
  }
}

// Calls body with the activation as a compile-time constant, so that the choice is made once per product.
template <typename Body>
inline void with_activation(Activation activation, const Body& body) {
  switch (activation) {
    case Activation::none: return body(std::integral_constant<Activation, Activation::none>{});
    case Activation::relu: return body(std::integral_constant<Activation, Activation::relu>{});
    case Activation::gelu: return body(std::integral_constant<Activation, Activation::gelu>{});
    case Activation::gelu_tanh: return body(std::integral_constant<Activation, Activation::gelu_tanh>{});
    case Activation::silu: return body(std::integral_constant<Activation, Activation::silu>{});
  }
}

}  // namespace fused_mlp
