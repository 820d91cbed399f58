// The activations, on vectors of float32, as the reference states them.
#pragma once

#include <ATen/cpu/vec/functional.h>
#include <ATen/cpu/vec/vec.h>
#include <c10/util/Exception.h>

#include <string_view>

namespace fused_mlp {

using Vec = at::vec::Vectorized<float>;

enum class Activation { none, relu, gelu, gelu_tanh, silu, quick_gelu };

inline Activation activation_from_name(std::string_view name) {
  if (name == "gelu") return Activation::gelu;
  if (name == "silu") return Activation::silu;
  if (name == "relu") return Activation::relu;
  if (name == "gelu_tanh") return Activation::gelu_tanh;
  if (name == "quick_gelu") return Activation::quick_gelu;
  TORCH_CHECK_VALUE(
      name == "none", "activation is '", name, "'; expected none, relu, gelu, gelu_tanh, silu or quick_gelu");
  return Activation::none;
}

// 2^y, within 2 units in the last place; 0 and infinity beyond float32's range, NaN for NaN. Inline, for a call of the
// library's would empty the vector registers, and cost as much again.
inline Vec exp2_of(const Vec& y) {
#if defined(CPU_CAPABILITY_AVX512)
  const Vec n(_mm512_roundscale_ps(y, _MM_FROUND_TO_NEAREST_INT));
  const Vec f = y - n;
#else
  const Vec inside = at::vec::clamp(y, Vec(-252.0f), Vec(252.0f));
  const Vec n = inside.round();
  const Vec f = inside - n;
#endif
  // 2^f for |f| ≤ 1/2, its largest relative error made least (1e-7).
  Vec p(0.0013264727f);
  p = at::vec::fmadd(p, f, Vec(0.009671513f));
  p = at::vec::fmadd(p, f, Vec(0.055507336f));
  p = at::vec::fmadd(p, f, Vec(0.24022242f));
  p = at::vec::fmadd(p, f, Vec(0.69314700f));
  p = at::vec::fmadd(p, f, Vec(1.0f));
#if defined(CPU_CAPABILITY_AVX512)
  return Vec(_mm512_scalef_ps(p, n));
#else
  // In two steps, because neither 2^-252 nor 2^252 is a float32.
  const auto exponent = at::vec::convert_to_int_of_same_size<float>(n);
  using Exponent = at::vec::Vectorized<int32_t>;
  const Exponent half = exponent >> Exponent(1);
  const auto scale = [](const Exponent& e) { return at::vec::cast<float>((e + Exponent(127)) << Exponent(23)); };
  return p * scale(half) * scale(exponent - half);
#endif
}

// x·sigmoid(−z·ln 2): every smooth activation here is this with some z.
inline Vec times_sigmoid(const Vec& x, const Vec& z) {
  return x / (Vec(1.0f) + exp2_of(z));
}

// −log₂(Φ(x)/Φ(−x)), Φ the normal distribution: x times a polynomial in x², the largest error of Φ made least (4e-8)
// by reweighted least squares (Lawson's iteration). The last coefficient's sign keeps the tails at 0 and 1.
inline Vec gelu_exponent(const Vec& x) {
  const Vec s = x * x;
  Vec p(-5.067235e-09f);
  p = at::vec::fmadd(p, s, Vec(3.8163125e-07f));
  p = at::vec::fmadd(p, s, Vec(-1.14398335e-05f));
  p = at::vec::fmadd(p, s, Vec(0.00015957994f));
  p = at::vec::fmadd(p, s, Vec(9.404923e-05f));
  p = at::vec::fmadd(p, s, Vec(-0.10483512f));
  p = at::vec::fmadd(p, s, Vec(-2.3022094f));
  return x * p;
}

template <Activation activation>
inline Vec activate(const Vec& x) {
  constexpr float log2e = 1.4426950408889634f;
  if constexpr (activation == Activation::relu) {
    return at::vec::maximum(x, Vec(0.0f));
  } else if constexpr (activation == Activation::gelu) {
    return times_sigmoid(x, gelu_exponent(x));
  } else if constexpr (activation == Activation::gelu_tanh) {
    // 0.5·(1 + tanh(u)) = sigmoid(2u), u = √(2/π)·(x + 0.044715·x³).
    constexpr float slope = -1.5957691216057308f * log2e;
    return times_sigmoid(x, x * at::vec::fmadd(x * x, Vec(slope * 0.044715f), Vec(slope)));
  } else if constexpr (activation == Activation::silu) {
    return times_sigmoid(x, x * Vec(-log2e));
  } else if constexpr (activation == Activation::quick_gelu) {
    return times_sigmoid(x, x * Vec(-1.702f * log2e));
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
    case Activation::quick_gelu: return body(std::integral_constant<Activation, Activation::quick_gelu>{});
  }
}

}  // namespace fused_mlp
