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

// erf(x/√2), within 3e-7 and never beyond ±1: a ratio of polynomials in x² of degree five each, its largest error on
// |x| ≤ 4·√2 made least by reweighted least squares (Lawson's iteration); beyond, erf is ±1 in float32. At a third
// of the cost of the library's correctly rounded erf, which at small widths costs as much as the product.
inline Vec erf_of_scaled(const Vec& x) {
  const Vec limit(5.65685425f);
  const Vec t = at::vec::maximum(at::vec::minimum(x, limit), limit.neg());
  const Vec s = t * t;
  Vec p(4.3638188e-08f);
  p = at::vec::fmadd(p, s, Vec(1.2729762e-05f));
  p = at::vec::fmadd(p, s, Vec(0.0003538743f));
  p = at::vec::fmadd(p, s, Vec(0.009451795f));
  p = at::vec::fmadd(p, s, Vec(0.069384344f));
  p = at::vec::fmadd(p, s, Vec(0.79788446f));
  Vec q(1.1712802e-06f);
  q = at::vec::fmadd(q, s, Vec(7.6022334e-05f));
  q = at::vec::fmadd(q, s, Vec(0.0019305485f));
  q = at::vec::fmadd(q, s, Vec(0.029119063f));
  q = at::vec::fmadd(q, s, Vec(0.25362596f));
  q = at::vec::fmadd(q, s, Vec(1.0f));
  const Vec ratio = t * p / q;
  return at::vec::maximum(at::vec::minimum(ratio, Vec(1.0f)), Vec(-1.0f));
}

template <Activation activation>
inline Vec activate(const Vec& x) {
  if constexpr (activation == Activation::relu) {
    return at::vec::maximum(x, Vec(0.0f));
  } else if constexpr (activation == Activation::gelu) {
    return x * Vec(0.5f) * (Vec(1.0f) + erf_of_scaled(x));
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
