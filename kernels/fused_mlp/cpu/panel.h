// The innermost loop on packed weights: up to twelve rows times a panel of columns whose elements for one depth
// lie side by side, so that each is read once and sums need no reduction across a register.
#pragma once

#include <algorithm>
#include <cstring>

#include "tile.h"

namespace fused_mlp {

// Two registers of columns: twelve rows of them are 24 sums, and two weights and one element of x fit beside in 32
// registers; in 16 registers six rows do.
constexpr int64_t panel_columns = 2 * Vec::size();
constexpr int64_t panel_rows = many_registers ? 12 : 6;

// How weights of type T are packed and which type x must have beside them. `depth_step` elements of one column lie
// together, for instructions that multiply and add in pairs.
template <typename T>
struct Packing {
  using Left = float;
  using Row = Vec;
  static constexpr int64_t depth_step = 1;
  struct Weights {
    Vec low, high;
  };
  static Weights load(const T* p) {
    auto [low, high] = at::vec::convert_to_float<T>(at::vec::Vectorized<T>::loadu(p));
    return {low, high};
  }
  static Vec broadcast(const float* p) { return Vec(*p); }
  static Vec multiply_add(const Vec& a, const Vec& b, const Vec& sum) { return at::vec::fmadd(a, b, sum); }
};

template <>
struct Packing<float> {
  using Left = float;
  using Row = Vec;
  static constexpr int64_t depth_step = 1;
  struct Weights {
    Vec low, high;
  };
  static Weights load(const float* p) { return {Vec::loadu(p), Vec::loadu(p + Vec::size())}; }
  static Vec broadcast(const float* p) { return Vec(*p); }
  static Vec multiply_add(const Vec& a, const Vec& b, const Vec& sum) { return at::vec::fmadd(a, b, sum); }
};

#if defined(CPU_CAPABILITY_AVX512) && defined(__AVX512BF16__)
template <>
struct Packing<at::BFloat16> {
  using Left = at::BFloat16;
  using Row = __m512bh;
  static constexpr int64_t depth_step = 2;
  struct Weights {
    __m512bh low, high;
  };
  static Weights load(const at::BFloat16* p) {
    return {(__m512bh)_mm512_loadu_si512(p), (__m512bh)_mm512_loadu_si512(p + 32)};
  }
  static __m512bh broadcast(const at::BFloat16* p) {
    int pair;
    std::memcpy(&pair, p, sizeof(pair));
    return (__m512bh)_mm512_set1_epi32(pair);
  }
  static Vec multiply_add(const __m512bh& a, const __m512bh& b, const Vec& sum) {
    return Vec(_mm512_dpbf16_ps(sum, a, b));
  }
};
#endif

// Depths are padded with zeros to a whole number of pairs, or of the steps of a matrix tile where there are such.
template <typename T>
constexpr int64_t padded_depth(int64_t depth) {
#if defined(CPU_CAPABILITY_AVX512) && defined(__AVX512BF16__) && defined(__AMX_BF16__)
  constexpr int64_t step = std::is_same_v<T, at::BFloat16> ? 32 : Packing<T>::depth_step;
#else
  constexpr int64_t step = Packing<T>::depth_step;
#endif
  return (depth + step - 1) / step * step;
}

#if defined(CPU_CAPABILITY_AVX512)
// Sixteen rows of sixteen 32-bit elements, `from` elements apart, stored as sixteen columns, `to` elements apart.
inline void transpose_16x16(const int32_t* source, int64_t from, int32_t* target, int64_t to) {
  __m512i a[16], b[16];
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) a[i] = _mm512_loadu_si512(source + i * from);
#pragma GCC unroll 8
  for (int i = 0; i < 16; i += 2) {
    b[i] = _mm512_unpacklo_epi32(a[i], a[i + 1]);
    b[i + 1] = _mm512_unpackhi_epi32(a[i], a[i + 1]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4) {
    a[i] = _mm512_unpacklo_epi64(b[i], b[i + 2]);
    a[i + 1] = _mm512_unpackhi_epi64(b[i], b[i + 2]);
    a[i + 2] = _mm512_unpacklo_epi64(b[i + 1], b[i + 3]);
    a[i + 3] = _mm512_unpackhi_epi64(b[i + 1], b[i + 3]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    b[i] = _mm512_shuffle_i32x4(a[i], a[i + 4], 0x88);
    b[i + 4] = _mm512_shuffle_i32x4(a[i], a[i + 4], 0xdd);
    b[i + 8] = _mm512_shuffle_i32x4(a[i + 8], a[i + 12], 0x88);
    b[i + 12] = _mm512_shuffle_i32x4(a[i + 8], a[i + 12], 0xdd);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    _mm512_storeu_si512(target + i * to, _mm512_shuffle_i32x4(b[i], b[i + 8], 0x88));
    _mm512_storeu_si512(target + (i + 8) * to, _mm512_shuffle_i32x4(b[i], b[i + 8], 0xdd));
    _mm512_storeu_si512(target + (i + 4) * to, _mm512_shuffle_i32x4(b[i + 4], b[i + 12], 0x88));
    _mm512_storeu_si512(target + (i + 12) * to, _mm512_shuffle_i32x4(b[i + 4], b[i + 12], 0xdd));
  }
}
#endif

// One panel of `columns` rows of w, zeros where it has no more of them, or no more depth.
template <typename T>
void pack_panel(const T* w, int64_t w_stride, int64_t columns, int64_t depth, T* panel) {
  constexpr int64_t step = Packing<T>::depth_step;
  if (columns < panel_columns || padded_depth<T>(depth) != depth) {
    std::fill(panel, panel + padded_depth<T>(depth) * panel_columns, T(0));
  }
  int64_t done = 0;
#if defined(CPU_CAPABILITY_AVX512)
  // What lies together is 32 bits wide, one float32 or a pair of bfloat16; rows of w start on such a boundary when
  // their distance is a multiple of it.
  if constexpr (sizeof(T) * step == 4) {
    constexpr int64_t block = 16 * step;
    if (columns == panel_columns && w_stride % step == 0) {
      for (; done + block <= depth; done += block) {
        for (int64_t c = 0; c < panel_columns; c += 16) {
          transpose_16x16(
              reinterpret_cast<const int32_t*>(w + c * w_stride + done), w_stride / step,
              reinterpret_cast<int32_t*>(panel + done * panel_columns + c * step), panel_columns);
        }
      }
    }
  }
#endif
  // A few depths at a time: whole cache lines are read, and written within a small window.
  constexpr int64_t window = 16;
  for (int64_t k0 = done; k0 < depth; k0 += window) {
    const int64_t k1 = std::min(depth, k0 + window);
    for (int64_t c = 0; c < columns; ++c) {
      const T* column = w + c * w_stride;
      for (int64_t k = k0; k < k1; ++k) {
        panel[k / step * step * panel_columns + c * step + k % step] = column[k];
      }
    }
  }
}

// Asks for the `n` elements that lie a tile's way ahead of p. Weights come from the second level or beyond, and the
// processor fetches ahead by itself only to the end of a page of 4 KiB, which a tile reaches every 32 steps in float32.
template <typename T, int64_t n>
inline void fetch_ahead_of(const T* p) {
  constexpr int64_t way = 2048, line = 64;
  const char* from = reinterpret_cast<const char*>(p) + way;
#pragma GCC unroll 32
  for (int64_t i = 0; i < n * static_cast<int64_t>(sizeof(T)); i += line) __builtin_prefetch(from + i);
}

// sums[r, 0:panels·panel_columns] = Σ_k a[r, k]·w[·, k] for `rows` rows and `panels` panels, `panel_size` apart.
// `a` holds padded_depth elements a row.
template <typename T, int rows, int panels>
inline void panel_tile(
    int64_t depth, const typename Packing<T>::Left* a, int64_t a_stride, const T* w, int64_t panel_size, float* sums,
    int64_t sums_stride) {
  using P = Packing<T>;
  Vec total[rows][2 * panels];
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < 2 * panels; ++v) total[r][v] = Vec(0.0f);
  }
  for (int64_t k = 0; k < depth; k += P::depth_step) {
    typename P::Row left[rows];
    if constexpr (panels > 1) {
      // Few rows, many panels: the rows stay in registers while the panels pass.
#pragma GCC unroll 16
      for (int r = 0; r < rows; ++r) left[r] = P::broadcast(a + r * a_stride + k);
    }
#pragma GCC unroll 4
    for (int p = 0; p < panels; ++p) {
      const T* here = w + p * panel_size + k * panel_columns;
      fetch_ahead_of<T, panel_columns * P::depth_step>(here);
      auto weights = P::load(here);
      keep_in_register(weights.low);
      keep_in_register(weights.high);
#pragma GCC unroll 16
      for (int r = 0; r < rows; ++r) {
        if constexpr (panels == 1) left[r] = P::broadcast(a + r * a_stride + k);
        total[r][2 * p] = P::multiply_add(left[r], weights.low, total[r][2 * p]);
        total[r][2 * p + 1] = P::multiply_add(left[r], weights.high, total[r][2 * p + 1]);
      }
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < 2 * panels; ++v) total[r][v].store(sums + r * sums_stride + v * Vec::size());
  }
}

}  // namespace fused_mlp
