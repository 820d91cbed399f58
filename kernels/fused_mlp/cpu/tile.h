// The innermost loop: a few rows times four (or eight, twelve) weight rows, both contiguous along the inner
// dimension, so that weights laid out as nn.Linear keeps them need no packing.
#pragma once

#include <ATen/cpu/vec/functional.h>
#include <ATen/cpu/vec/vec.h>
#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <array>
#include <cstdint>
#include <type_traits>

#if defined(CPU_CAPABILITY_AVX512)
#include <immintrin.h>
#endif

namespace fused_mlp {

using Vec = at::vec::Vectorized<float>;

// AVX-512 has 32 vector registers, AVX2 has 16; the tiles are cut to fit them.
#if defined(CPU_CAPABILITY_AVX512)
constexpr bool many_registers = true;
#else
constexpr bool many_registers = false;
#endif

// Left to itself, gcc reads a register that is used several times from memory each time, and loads, not products,
// become the limit: 2.5 times slower, measured.
inline void keep_in_register(Vec& v) {
#if defined(CPU_CAPABILITY_AVX512)
  __m512 value = v;
  asm("" : "+v"(value));
  v = Vec(value);
#elif defined(CPU_CAPABILITY_AVX2)
  __m256 value = v;
  asm("" : "+x"(value));
  v = Vec(value);
#endif
}
#if defined(CPU_CAPABILITY_AVX512) && defined(__AVX512BF16__)
inline void keep_in_register(__m512bh& v) { asm("" : "+v"(v)); }
#endif
template <typename Register>
inline void keep_in_register(Register&) {}

// How `width` neighbouring elements enter a dot product that accumulates in float32.
template <typename T>
struct Lane;

template <>
struct Lane<float> {
  using Register = Vec;
  static constexpr int64_t width = Vec::size();
  static Register load(const float* p) { return Vec::loadu(p); }
  static Register load(const float* p, int64_t n) {
    return Vec::loadu(p, n);
  }
  static Vec multiply_add(const Register& a, const Register& b, const Vec& sum) { return at::vec::fmadd(a, b, sum); }
};

#if defined(CPU_CAPABILITY_AVX512) && defined(__AVX512BF16__)
template <>
struct Lane<at::BFloat16> {
  using Register = __m512bh;
  static constexpr int64_t width = 32;
  static Register load(const at::BFloat16* p) { return (__m512bh)_mm512_loadu_si512(p); }
  static Register load(const at::BFloat16* p, int64_t n) {
    return (__m512bh)_mm512_maskz_loadu_epi16((__mmask32)((1ull << n) - 1), p);
  }
  static Vec multiply_add(const Register& a, const Register& b, const Vec& sum) {
    return Vec(_mm512_dpbf16_ps(sum, a, b));
  }
};
#endif

// 16-bit types without an instruction of their own: widened to two float32 vectors when loaded.
template <typename T>
struct Lane {
  struct Register {
    Vec low, high;
  };
  static constexpr int64_t width = 2 * Vec::size();
  static Register widen(const at::vec::Vectorized<T>& v) {
    auto [low, high] = at::vec::convert_to_float<T>(v);
    return {low, high};
  }
  static Register load(const T* p) { return widen(at::vec::Vectorized<T>::loadu(p)); }
  static Register load(const T* p, int64_t n) {
    std::array<T, width> padded{};
    for (int64_t i = 0; i < n; ++i) padded[i] = p[i];
    return load(padded.data());
  }
  static Vec multiply_add(const Register& a, const Register& b, const Vec& sum) {
    return at::vec::fmadd(a.high, b.high, at::vec::fmadd(a.low, b.low, sum));
  }
};

// The sums of four accumulators, side by side.
inline void store_four_sums(const Vec& a, const Vec& b, const Vec& c, const Vec& d, float* out, bool add) {
#if defined(CPU_CAPABILITY_AVX512)
  const __m512 ab = _mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
  const __m512 cd = _mm512_add_ps(_mm512_unpacklo_ps(c, d), _mm512_unpackhi_ps(c, d));
  const __m512d low = _mm512_unpacklo_pd(_mm512_castps_pd(ab), _mm512_castps_pd(cd));
  const __m512d high = _mm512_unpackhi_pd(_mm512_castps_pd(ab), _mm512_castps_pd(cd));
  const __m512 quads = _mm512_add_ps(_mm512_castpd_ps(low), _mm512_castpd_ps(high));
  const __m256 halves = _mm256_add_ps(_mm512_castps512_ps256(quads), _mm512_extractf32x8_ps(quads, 1));
  __m128 sums = _mm_add_ps(_mm256_castps256_ps128(halves), _mm256_extractf128_ps(halves, 1));
  if (add) sums = _mm_add_ps(sums, _mm_loadu_ps(out));
  _mm_storeu_ps(out, sums);
#else
  const Vec* accumulators[4] = {&a, &b, &c, &d};
  for (int j = 0; j < 4; ++j) {
    const float sum = at::vec::vec_reduce_all<float>([](const Vec& x, const Vec& y) { return x + y; }, *accumulators[j]);
    out[j] = add ? out[j] + sum : sum;
  }
#endif
}

// sums[r, c] (+)= Σ_k a[r, k]·b[c, k] for `rows` × 4·`quads`. `b_rows` points at each weight row, so that the
// last, incomplete quad can repeat a row instead of reading past the end.
template <typename T, int rows, int quads>
inline void dot_tile(
    int64_t depth, const T* a, int64_t a_stride, const T* const* b_rows, float* sums, int64_t sums_stride, bool add) {
  using L = Lane<T>;
  Vec total[rows][4 * quads];
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 16
    for (int c = 0; c < 4 * quads; ++c) total[r][c] = Vec(0.0f);
  }
  const T* b[4 * quads];
#pragma GCC unroll 16
  for (int c = 0; c < 4 * quads; ++c) b[c] = b_rows[c];

  int64_t k = 0;
  for (; k + L::width <= depth; k += L::width) {
    typename L::Register left[rows];
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r) {
      left[r] = L::load(a + r * a_stride + k);
      keep_in_register(left[r]);
    }
#pragma GCC unroll 16
    for (int c = 0; c < 4 * quads; ++c) {
      auto right = L::load(b[c] + k);
      keep_in_register(right);
#pragma GCC unroll 8
      for (int r = 0; r < rows; ++r) total[r][c] = L::multiply_add(left[r], right, total[r][c]);
    }
  }
  if (const int64_t rest = depth - k; rest > 0) {
    typename L::Register left[rows];
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r) left[r] = L::load(a + r * a_stride + k, rest);
#pragma GCC unroll 16
    for (int c = 0; c < 4 * quads; ++c) {
      const auto right = L::load(b[c] + k, rest);
#pragma GCC unroll 8
      for (int r = 0; r < rows; ++r) total[r][c] = L::multiply_add(left[r], right, total[r][c]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 4
    for (int q = 0; q < quads; ++q) {
      const Vec* t = &total[r][4 * q];
      store_four_sums(t[0], t[1], t[2], t[3], sums + r * sums_stride + 4 * q, add);
    }
  }
}

}  // namespace fused_mlp
