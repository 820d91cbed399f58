// The innermost loop of bfloat16 on the processor's matrix tiles (AMX): 32 rows times a panel, whose pairs lie as the
// instruction wants them. Sixteen times the products an instruction for vectors makes.
#pragma once

#include "panel.h"

#if defined(CPU_CAPABILITY_AVX512) && defined(__AMX_BF16__) && defined(__AVX512BF16__)
#define FUSED_MLP_MATRIX_TILES 1
#include <ATen/cpu/Utils.h>
#endif

namespace fused_mlp {

// Rows of two tiles; and from how many on tiles win over vectors, for which a row more costs more.
constexpr int64_t matrix_tile_rows = 32;
constexpr int64_t least_rows_for_matrix_tiles = 5;

// Whether `rows` rows of type T are multiplied by matrix tiles. Of all rows of a call, not of one thread's, because
// tiles add up in another order, and a result shall not depend on the number of threads.
template <typename T>
inline bool takes_matrix_tiles(int64_t rows) {
#if defined(FUSED_MLP_MATRIX_TILES)
  if constexpr (std::is_same_v<T, at::BFloat16>) {
    // Linux gives the registers to a process that asks; torch does so for us.
    static const bool is_given = at::cpu::init_amx();
    return is_given && rows >= least_rows_for_matrix_tiles;
  }
#endif
  return false;
}

#if defined(FUSED_MLP_MATRIX_TILES)

// Gives this thread's tiles their shapes: sums 0 to 3, rows of x 4 and 5, weights 6 and 7.
inline void shape_matrix_tiles(int64_t rows) {
  struct alignas(64) Shapes {
    uint8_t palette = 1, start_row = 0, reserved[14] = {};
    uint16_t bytes_of_row[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
  } shapes;
  const auto upper = static_cast<uint8_t>(std::min<int64_t>(rows, 16));
  const auto lower = static_cast<uint8_t>(rows > 16 ? rows - 16 : 16);
  for (int i : {0, 1, 4}) shapes.rows[i] = upper;
  for (int i : {2, 3, 5}) shapes.rows[i] = lower;
  _tile_loadconfig(&shapes);
}

inline void release_matrix_tiles() { _tile_release(); }

// sums[r, 0:panel_columns] = Σ_k a[r, k]·w[·, k] for up to 16 rows, or up to 32 if `has_lower`; `a` holds padded_depth
// elements a row.
template <bool has_lower>
inline void matrix_tile(
    int64_t depth, const at::BFloat16* a, int64_t a_stride, const at::BFloat16* w, float* sums, int64_t sums_stride) {
  constexpr int64_t step = 32, pair_bytes = 2 * panel_columns * sizeof(at::BFloat16);
  const int64_t a_bytes = a_stride * static_cast<int64_t>(sizeof(at::BFloat16));
  const int64_t sums_bytes = sums_stride * static_cast<int64_t>(sizeof(float));
  _tile_zero(0);
  _tile_zero(1);
  if constexpr (has_lower) {
    _tile_zero(2);
    _tile_zero(3);
  }
  for (int64_t k = 0; k < depth; k += step) {
    const at::BFloat16* here = w + k * panel_columns;
    fetch_ahead_of<at::BFloat16, step * panel_columns>(here);
    _tile_loadd(6, here, pair_bytes);
    _tile_loadd(4, a + k, a_bytes);
    _tile_dpbf16ps(0, 4, 6);
    if constexpr (has_lower) {
      _tile_loadd(5, a + 16 * a_stride + k, a_bytes);
      _tile_dpbf16ps(2, 5, 6);
    }
    _tile_loadd(7, here + panel_columns, pair_bytes);
    _tile_dpbf16ps(1, 4, 7);
    if constexpr (has_lower) _tile_dpbf16ps(3, 5, 7);
  }
  _tile_stored(0, sums, sums_bytes);
  _tile_stored(1, sums + 16, sums_bytes);
  if constexpr (has_lower) {
    _tile_stored(2, sums + 16 * sums_stride, sums_bytes);
    _tile_stored(3, sums + 16 * sums_stride + 16, sums_bytes);
  }
}

#endif

}  // namespace fused_mlp
