// Where the weights of a product come from: as nn.Linear keeps them, packed before, or packed during the call.
// Each source turns up to tile_rows rows of the left operand and a few columns into float32 sums.
#pragma once

#include <memory>

#include "matrix_tiles.h"
#include "panel.h"
#include "tile.h"

namespace fused_mlp {

// A row-major matrix seen through its first element and the distance between its rows, in elements.
template <typename T>
struct Rows {
  const T* data;
  int64_t stride;
  const T* row(int64_t i) const { return data + i * stride; }
};

// Float32 sums of a few rows and columns, in the first-level cache until they are finished.
struct Sums {
  // Columns finished together, and room for a tile that writes a whole number of steps beyond them.
  static constexpr int64_t max_columns = 128;
  static constexpr int64_t stride = max_columns + 16;
  static constexpr int64_t max_rows = matrix_tile_rows;
  alignas(64) float values[max_rows * stride];

  const float* row(int64_t r) const { return values + r * stride; }
};

// Bytes of weights that all rows visit before the next are read: a part of the second-level cache.
constexpr int64_t weight_block_bytes = 512 * 1024;

template <typename T>
inline int64_t stationary_columns(int64_t depth, int64_t step) {
  const int64_t row_bytes = std::max<int64_t>(1, depth * static_cast<int64_t>(sizeof(T)));
  return std::max(step, weight_block_bytes / row_bytes / step * step);
}

// Weights as nn.Linear keeps them.
template <typename T>
struct PlainWeights {
  using Left = T;
  using Element = T;
  static constexpr int64_t tile_rows() { return many_registers ? 6 : 3; }
  // Bytes of a row read per pass: six rows of x and four of the weights then fit the first-level cache together.
  static constexpr int64_t depth_block = 4096 / static_cast<int64_t>(sizeof(T));

  Rows<T> rows;
  int64_t depth;

  static int64_t columns_at_once(int64_t) { return 64; }
  void enter(int64_t, int64_t) {}
  void leave() {}

  void sums_of(const Rows<T>& x, int64_t n_rows, int64_t first, int64_t columns, Sums& sums) const {
    switch (n_rows) {
      case 1: return tiles<1, 3>(x, first, columns, sums);
      case 2: return tiles<2, many_registers ? 3 : 1>(x, first, columns, sums);
      case 3: return tiles<3, many_registers ? 2 : 1>(x, first, columns, sums);
      case 4: return tiles<4, 1>(x, first, columns, sums);
      case 5: return tiles<5, 1>(x, first, columns, sums);
      default: return tiles<6, 1>(x, first, columns, sums);
    }
  }

 private:
  template <int n_rows, int quads>
  void tiles(const Rows<T>& x, int64_t first, int64_t columns, Sums& sums) const {
    constexpr int64_t step = 4 * quads;
    int64_t k = 0;
    do {
      const int64_t block = std::min(depth_block, depth - k);
      for (int64_t c = 0; c < columns; c += step) {
        const T* b_rows[step];
        for (int64_t j = 0; j < step; ++j) b_rows[j] = rows.row(first + std::min(c + j, columns - 1)) + k;
        dot_tile<T, n_rows, quads>(block, x.data + k, x.stride, b_rows, sums.values + c, Sums::stride, k > 0);
      }
      k += depth_block;
    } while (k < depth);
  }
};

// Weights packed before the call, panel after panel.
template <typename T>
struct PackedWeights {
  using Left = typename Packing<T>::Left;
  using Element = T;

  const T* panels;
  int64_t depth;
  bool is_tiled = false;  // by matrix tiles; `shaped_rows` is what this thread's have the shape for
  int64_t shaped_rows = 0;

  int64_t tile_rows() const { return is_tiled ? matrix_tile_rows : panel_rows; }
  int64_t panel_size() const { return padded_depth<T>(depth) * panel_columns; }
  int64_t columns_at_once(int64_t n_rows) const {
    constexpr int64_t few = many_registers ? 3 : 1, some = many_registers ? 6 : 3;
    if (is_tiled) return panel_columns;
    return panel_columns * (n_rows <= few ? 4 : n_rows <= some ? 2 : 1);
  }
  void enter(int64_t, int64_t) {}
  void leave() {
#if defined(FUSED_MLP_MATRIX_TILES)
    if (shaped_rows > 0) release_matrix_tiles();
#endif
  }

  void sums_of(const Rows<Left>& x, int64_t n_rows, int64_t first, int64_t columns, Sums& sums) {
    sums_from(panels + first / panel_columns * panel_size(), x, n_rows, columns, sums);
  }

 protected:
  void sums_from(const T* panel, const Rows<Left>& x, int64_t n_rows, int64_t columns, Sums& sums) {
#if defined(FUSED_MLP_MATRIX_TILES)
    if constexpr (std::is_same_v<T, at::BFloat16>) {
      if (is_tiled) return matrix_tiles(panel, x, n_rows, sums);
    }
#endif
    switch (n_rows) {
      case 1: return few_rows<1>(panel, x, columns, sums);
      case 2: return few_rows<2>(panel, x, columns, sums);
      case 3: return few_rows<3>(panel, x, columns, sums);
      case 4: return some_rows<4>(panel, x, columns, sums);
      case 5: return some_rows<5>(panel, x, columns, sums);
      case 6: return some_rows<6>(panel, x, columns, sums);
      case 7: return tile<7, 1>(panel, x, sums);
      case 8: return tile<8, 1>(panel, x, sums);
      case 9: return tile<9, 1>(panel, x, sums);
      case 10: return tile<10, 1>(panel, x, sums);
      case 11: return tile<11, 1>(panel, x, sums);
      default: return tile<12, 1>(panel, x, sums);
    }
  }

 private:
#if defined(FUSED_MLP_MATRIX_TILES)
  void matrix_tiles(const T* panel, const Rows<Left>& x, int64_t n_rows, Sums& sums) {
    if (shaped_rows != n_rows) shape_matrix_tiles(n_rows);
    shaped_rows = n_rows;
    if (n_rows > 16) {
      matrix_tile<true>(depth, x.data, x.stride, panel, sums.values, Sums::stride);
    } else {
      matrix_tile<false>(depth, x.data, x.stride, panel, sums.values, Sums::stride);
    }
  }
#endif

  template <int n_rows, int n_panels>
  void tile(const T* panel, const Rows<Left>& x, Sums& sums) const {
    panel_tile<T, n_rows, n_panels>(depth, x.data, x.stride, panel, panel_size(), sums.values, Sums::stride);
  }

  template <int n_rows>
  void few_rows(const T* panel, const Rows<Left>& x, int64_t columns, Sums& sums) const {
    switch ((columns + panel_columns - 1) / panel_columns) {
      case 1: return tile<n_rows, 1>(panel, x, sums);
      case 2: return tile<n_rows, 2>(panel, x, sums);
      case 3: return tile<n_rows, 3>(panel, x, sums);
      default: return tile<n_rows, 4>(panel, x, sums);
    }
  }

  template <int n_rows>
  void some_rows(const T* panel, const Rows<Left>& x, int64_t columns, Sums& sums) const {
    return columns <= panel_columns ? tile<n_rows, 1>(panel, x, sums) : tile<n_rows, 2>(panel, x, sums);
  }
};

// Weights as nn.Linear keeps them, packed block by block by the thread that is about to use them. Pays when each
// block meets many rows.
template <typename T>
struct RepackedWeights : PackedWeights<T> {
  Rows<T> rows;
  int64_t entered = 0;
  std::shared_ptr<T[]> block;

  RepackedWeights(const Rows<T>& rows, int64_t depth)
      : PackedWeights<T>{nullptr, depth, takes_matrix_tiles<T>(matrix_tile_rows)}, rows(rows) {}

  void enter(int64_t from, int64_t to) {
    const int64_t panel_size = this->panel_size();
    if (!block) {
      const int64_t most = stationary_columns<T>(this->depth, panel_columns) / panel_columns;
      block = std::shared_ptr<T[]>(new (std::align_val_t(64)) T[most * panel_size], [](T* p) {
        ::operator delete[](p, std::align_val_t(64));
      });
    }
    entered = from;
    for (int64_t c = from; c < to; c += panel_columns) {
      pack_panel<T>(
          rows.row(c), rows.stride, std::min(panel_columns, to - c), this->depth,
          block.get() + (c - from) / panel_columns * panel_size);
    }
  }

  void sums_of(
      const Rows<typename PackedWeights<T>::Left>& x, int64_t n_rows, int64_t first, int64_t columns, Sums& sums) {
    this->sums_from(
        block.get() + (first - entered) / panel_columns * this->panel_size(), x, n_rows, columns, sums);
  }
};

}  // namespace fused_mlp
