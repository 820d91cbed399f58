// x·Wᵀ with bias and activation applied while the sums are still in the first-level cache, and how a chain of two
// such products is shared between threads.
#pragma once

#include <ATen/Parallel.h>

#include "activation.h"
#include "policy.h"
#include "weights.h"

namespace fused_mlp {

#if defined(CPU_CAPABILITY_AVX512)
// Half a register of 16-bit elements, where at::vec takes whole ones, through memory if they are not full.
inline __mmask16 first_of(int64_t n) { return static_cast<__mmask16>((1u << n) - 1); }
inline Vec widened(__m256i bits, at::BFloat16) {
  return Vec(_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16)));
}
inline Vec widened(__m256i bits, at::Half) { return Vec(_mm512_cvtph_ps(bits)); }
inline __m256i narrowed(const Vec& v, at::Half) {
  return _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
inline __m256i narrowed(const Vec& v, at::BFloat16) {
#if defined(__AVX512BF16__)
  return (__m256i)_mm512_cvtneps_pbh(v);
#else
  return _mm512_castsi512_si256(at::vec::convert_from_float<at::BFloat16>(v, v));
#endif
}
#endif

// The first n elements as float32, the rest zero.
template <typename T>
inline Vec load_as_float(const T* p, int64_t n) {
  if constexpr (std::is_same_v<T, float>) {
    return n == Vec::size() ? Vec::loadu(p) : Vec::loadu(p, n);
  } else {
#if defined(CPU_CAPABILITY_AVX512)
    return widened(_mm256_maskz_loadu_epi16(first_of(n), p), T());
#else
    auto [low, high] = at::vec::convert_to_float<T>(at::vec::Vectorized<T>::loadu(p, n));
    return low;
#endif
  }
}

// Stores the first n elements, rounded to T; as T, or as float32 for a product whose left operand is float32.
template <typename T, typename Stored>
inline void store_rounded(const Vec& v, Stored* p, int64_t n) {
  if constexpr (std::is_same_v<T, float>) {
    if (n == Vec::size()) {
      v.store(p);
    } else {
      v.store(p, static_cast<int>(n));
    }
  } else {
#if defined(CPU_CAPABILITY_AVX512)
    const __m256i narrow = narrowed(v, T());
    if constexpr (std::is_same_v<Stored, float>) {
      _mm512_mask_storeu_ps(p, first_of(n), widened(narrow, T()));
    } else {
      _mm256_mask_storeu_epi16(p, first_of(n), narrow);
    }
#else
    const auto narrow = at::vec::convert_from_float<T>(v, v);
    if constexpr (std::is_same_v<Stored, float>) {
      auto [low, high] = at::vec::convert_to_float<T>(narrow);
      low.store(p, static_cast<int>(n));
    } else {
      narrow.store(p, static_cast<int>(n));
    }
#endif
  }
}

// Row groups of even size: 13 rows are 7 and 6, not 12 and 1, because a tile of few rows wastes its weights.
inline int64_t even_group(int64_t rows, int64_t most) {
  const int64_t groups = (rows + most - 1) / most;
  return groups == 0 ? 1 : (rows + groups - 1) / groups;
}

// Where a product writes beside its result what the backward pass would have to compute again; null where nothing is
// kept. Each is a matrix of whole rows, `stride` elements apart.
template <typename T>
struct Kept {
  T* z = nullptr;
  T* up = nullptr;
  T* hidden = nullptr;
  int64_t stride = 0;

  Kept from_row(int64_t r) const {
    const auto moved = [&](T* p) { return p == nullptr ? p : p + r * stride; };
    return {moved(z), moved(up), moved(hidden), stride};
  }
};

// out[0:rows, begin:end] = act(x·Wᵀ + bias), on the calling thread. `begin` is a multiple of panel_columns.
template <typename W, typename Stored>
void product(
    const Rows<typename W::Left>& x, int64_t rows, W weights, const typename W::Element* bias, int64_t begin,
    int64_t end, Activation activation, Stored* out, int64_t out_stride, const Kept<typename W::Element>& kept = {}) {
  using T = typename W::Element;
  const int64_t group = even_group(rows, weights.tile_rows());
  const int64_t step = weights.columns_at_once(group);
  const int64_t stationary = stationary_columns<T>(weights.depth, step);
  with_activation(activation, [&](auto constant) {
    Sums sums;
    for (int64_t from = begin; from < end; from += stationary) {
      const int64_t to = std::min(end, from + stationary);
      weights.enter(from, to);
      for (int64_t r = 0; r < rows; r += group) {
        const int64_t some = std::min(group, rows - r);
        for (int64_t c = from; c < to; c += step) {
          const int64_t columns = std::min(step, to - c);
          weights.sums_of({x.row(r), x.stride}, some, c, columns, sums);
          for (int64_t i = 0; i < some; ++i) {
            Stored* row = out + (r + i) * out_stride + c;
            for (int64_t j = 0; j < columns; j += Vec::size()) {
              const int64_t n = std::min<int64_t>(Vec::size(), columns - j);
              Vec v = Vec::loadu(sums.row(i) + j);
              if (bias != nullptr) v = v + load_as_float(bias + c + j, n);
              const Vec activated = activate<constant.value>(v);
              store_rounded<T>(activated, row + j, n);
              if (kept.z != nullptr) store_rounded<T>(v, kept.z + (r + i) * kept.stride + c + j, n);
              if (kept.hidden != nullptr) store_rounded<T>(activated, kept.hidden + (r + i) * kept.stride + c + j, n);
            }
          }
        }
      }
    }
  });
  weights.leave();
}

// out[0:rows, begin:end] = act(x·Wgᵀ) · (x·Wuᵀ), on the calling thread. `begin` as in product.
template <typename W, typename Stored>
void gated_product(
    const Rows<typename W::Left>& x, int64_t rows, W gate, W up, int64_t begin, int64_t end, Activation activation,
    Stored* out, int64_t out_stride, const Kept<typename W::Element>& kept = {}) {
  using T = typename W::Element;
  const int64_t group = even_group(rows, gate.tile_rows());
  const int64_t step = gate.columns_at_once(group);
  const int64_t stationary = stationary_columns<T>(2 * gate.depth, step);
  with_activation(activation, [&](auto constant) {
    Sums gate_sums, up_sums;
    for (int64_t from = begin; from < end; from += stationary) {
      const int64_t to = std::min(end, from + stationary);
      gate.enter(from, to);
      up.enter(from, to);
      for (int64_t r = 0; r < rows; r += group) {
        const int64_t some = std::min(group, rows - r);
        for (int64_t c = from; c < to; c += step) {
          const int64_t columns = std::min(step, to - c);
          gate.sums_of({x.row(r), x.stride}, some, c, columns, gate_sums);
          up.sums_of({x.row(r), x.stride}, some, c, columns, up_sums);
          for (int64_t i = 0; i < some; ++i) {
            Stored* row = out + (r + i) * out_stride + c;
            for (int64_t j = 0; j < columns; j += Vec::size()) {
              const int64_t n = std::min<int64_t>(Vec::size(), columns - j);
              const Vec g = Vec::loadu(gate_sums.row(i) + j), u = Vec::loadu(up_sums.row(i) + j);
              const Vec gated = activate<constant.value>(g) * u;
              store_rounded<T>(gated, row + j, n);
              if (kept.z != nullptr) {
                store_rounded<T>(g, kept.z + (r + i) * kept.stride + c + j, n);
                store_rounded<T>(u, kept.up + (r + i) * kept.stride + c + j, n);
              }
              if (kept.hidden != nullptr) store_rounded<T>(gated, kept.hidden + (r + i) * kept.stride + c + j, n);
            }
          }
        }
      }
    }
  });
  gate.leave();
  up.leave();
}

// How a chain of products over `rows` rows is shared between threads: whole rows when there are enough of them to
// reuse each weight, else columns; serial when waking a thread would cost more than it brings.
enum class Split { serial, rows, columns };

inline Split split_for(const Policy& policy, int64_t rows, double flop) {
  const int threads = at::in_parallel_region() ? 1 : at::get_num_threads();
  if (threads == 1 || flop < static_cast<double>(policy.serial_flop)) return Split::serial;
  return rows >= policy.row_split_rows * threads ? Split::rows : Split::columns;
}

// Whether plain weights are packed during the call.
inline bool repacks(const Policy& policy, int64_t rows) { return rows >= policy.repacking_rows; }

// Calls body(begin, end) for shares of `count`, each a multiple of `step` but the last, one per thread.
template <typename Body>
void share(int64_t count, int64_t step, const Body& body) {
  const int64_t steps = (count + step - 1) / step;
  at::parallel_for(0, steps, 1, [&](int64_t begin, int64_t end) {
    body(begin * step, std::min(count, end * step));
  });
}

// Rows that a thread takes through both products together: as many as keep the hidden tile within a part of the
// second-level cache, if these use a weight often enough once it has been read. Else, with wide hidden layers, no tile
// worth having stays there, and the rows are so many that weights are seldom read again. Matrix tiles, done with a weight
// sooner, need more rows for it.
inline int64_t hidden_tile_rows(int64_t row_bytes, int64_t tile_rows) {
  constexpr int64_t many = 512;
  const int64_t enough = tile_rows == matrix_tile_rows ? many : 96;
  const int64_t fitting = weight_block_bytes / std::max<int64_t>(1, row_bytes);
  return fitting >= enough ? fitting : many;
}

}  // namespace fused_mlp
