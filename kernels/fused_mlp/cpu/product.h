// x·Wᵀ with bias and activation applied while the sums are still in the first-level cache.
#pragma once

#include <ATen/Parallel.h>

#include <algorithm>
#include <bit>

#include "activation.h"
#include "tile.h"

namespace fused_mlp {

// A row-major matrix seen through its first element and the distance between its rows, in elements.
template <typename T>
struct Rows {
  const T* data;
  int64_t stride;
  const T* row(int64_t i) const { return data + i * stride; }
};

// Six rows by four columns of float32 sums fill the 32 vector registers; fewer rows take more columns.
constexpr int64_t tile_rows = 6;
// Columns whose sums are finished (bias, activation, store) together: 6·64 float32 stay in the first-level cache.
constexpr int64_t column_block = 64;
// Bytes of a row read per pass: six rows of x and four of the weights then fit the first-level cache together.
constexpr int64_t depth_block_bytes = 4096;
// Bytes of weights that all rows visit before the next are read: a part of the second-level cache.
constexpr int64_t weight_block_bytes = 512 * 1024;

constexpr int64_t round_up(int64_t n, int64_t step) { return (n + step - 1) / step * step; }

template <typename T, int rows, int quads>
void sums_of_rows(
    const Rows<T>& x, const Rows<T>& w, int64_t first_column, int64_t columns, int64_t depth, float* sums) {
  constexpr int64_t step = 4 * quads;
  const int64_t depth_block = depth_block_bytes / static_cast<int64_t>(sizeof(T));
  for (int64_t k = 0; k < depth; k += depth_block) {
    const int64_t block = std::min(depth_block, depth - k);
    for (int64_t c = 0; c < columns; c += step) {
      const T* b_rows[step];
      for (int64_t j = 0; j < step; ++j) b_rows[j] = w.row(first_column + std::min(c + j, columns - 1)) + k;
      dot_tile<T, rows, quads>(block, x.data + k, x.stride, b_rows, sums + c, column_block + 12, k > 0);
    }
  }
}

// Float32 sums of up to tile_rows rows and column_block columns, row by row, column_block + 12 apart (a tile of
// few rows writes up to twelve columns at once, past the last one).
template <typename T>
struct Sums {
  alignas(64) float values[tile_rows * (column_block + 12)];

  const float* row(int64_t r) const { return values + r * (column_block + 12); }
  float* row(int64_t r) { return values + r * (column_block + 12); }

  void compute(const Rows<T>& x, int64_t rows, const Rows<T>& w, int64_t first_column, int64_t columns, int64_t depth) {
    if (depth == 0) {
      std::fill(std::begin(values), std::end(values), 0.0f);
      return;
    }
    switch (rows) {
      case 1: return sums_of_rows<T, 1, 3>(x, w, first_column, columns, depth, values);
      case 2: return sums_of_rows<T, 2, 3>(x, w, first_column, columns, depth, values);
      case 3: return sums_of_rows<T, 3, 2>(x, w, first_column, columns, depth, values);
      case 4: return sums_of_rows<T, 4, 1>(x, w, first_column, columns, depth, values);
      case 5: return sums_of_rows<T, 5, 1>(x, w, first_column, columns, depth, values);
      default: return sums_of_rows<T, 6, 1>(x, w, first_column, columns, depth, values);
    }
  }
};

template <typename T>
inline Vec load_as_float(const T* p, int64_t n) {
  if constexpr (std::is_same_v<T, float>) {
    return n == Vec::size() ? Vec::loadu(p) : Vec::loadu(p, n);
  } else {
    alignas(64) float wide[Vec::size()] = {};
    for (int64_t i = 0; i < n; ++i) wide[i] = static_cast<float>(p[i]);
    return Vec::loadu(wide);
  }
}

template <typename T>
inline void store_rounded(const Vec& v, T* p, int64_t n) {
  if constexpr (std::is_same_v<T, float>) {
    if (n == Vec::size()) {
      v.store(p);
    } else {
      v.store(p, static_cast<int>(n));
    }
  } else {
    const auto narrow = at::vec::convert_from_float<T>(v, v);
    narrow.store(p, static_cast<int>(n));
  }
}

// One finished stretch of a row: out[j] = act(sums[j] + bias[j]).
template <typename T, Activation activation>
inline void finish_row(const float* sums, const T* bias, T* out, int64_t columns) {
  for (int64_t j = 0; j < columns; j += Vec::size()) {
    const int64_t n = std::min<int64_t>(Vec::size(), columns - j);
    Vec v = Vec::loadu(sums + j);
    if (bias != nullptr) v = v + load_as_float(bias + j, n);
    store_rounded(activate<activation>(v), out + j, n);
  }
}

// Columns of the weights that stay in the second-level cache while every row passes.
template <typename T>
inline int64_t stationary_columns(int64_t depth, int64_t n_weights) {
  const int64_t row_bytes = std::max<int64_t>(1, depth * n_weights * static_cast<int64_t>(sizeof(T)));
  return std::max(column_block, weight_block_bytes / row_bytes / column_block * column_block);
}

// out[0:rows, begin:end] = act(x·Wᵀ + bias), on the calling thread.
template <typename T>
void product(
    const Rows<T>& x, int64_t rows, const Rows<T>& w, const T* bias, int64_t depth, int64_t begin, int64_t end,
    Activation activation, T* out, int64_t out_stride) {
  const int64_t stationary = stationary_columns<T>(depth, 1);
  with_activation(activation, [&](auto constant) {
    Sums<T> sums;
    for (int64_t from = begin; from < end; from += stationary) {
      const int64_t to = std::min(end, from + stationary);
      for (int64_t r = 0; r < rows; r += tile_rows) {
        const int64_t some = std::min(tile_rows, rows - r);
        const Rows<T> few{x.row(r), x.stride};
        for (int64_t c = from; c < to; c += column_block) {
          const int64_t columns = std::min(column_block, to - c);
          sums.compute(few, some, w, c, columns, depth);
          for (int64_t i = 0; i < some; ++i) {
            finish_row<T, constant.value>(
                sums.row(i), bias ? bias + c : nullptr, out + (r + i) * out_stride + c, columns);
          }
        }
      }
    }
  });
}

// out[0:rows, begin:end] = act(x·Wgᵀ) · (x·Wuᵀ), on the calling thread.
template <typename T>
void gated_product(
    const Rows<T>& x, int64_t rows, const Rows<T>& w_gate, const Rows<T>& w_up, int64_t depth, int64_t begin,
    int64_t end, Activation activation, T* out, int64_t out_stride) {
  const int64_t stationary = stationary_columns<T>(depth, 2);
  with_activation(activation, [&](auto constant) {
    Sums<T> gate, up;
    for (int64_t from = begin; from < end; from += stationary) {
      const int64_t to = std::min(end, from + stationary);
      for (int64_t r = 0; r < rows; r += tile_rows) {
        const int64_t some = std::min(tile_rows, rows - r);
        const Rows<T> few{x.row(r), x.stride};
        for (int64_t c = from; c < to; c += column_block) {
          const int64_t columns = std::min(column_block, to - c);
          gate.compute(few, some, w_gate, c, columns, depth);
          up.compute(few, some, w_up, c, columns, depth);
          for (int64_t i = 0; i < some; ++i) {
            T* row = out + (r + i) * out_stride + c;
            for (int64_t j = 0; j < columns; j += Vec::size()) {
              const Vec g = activate<constant.value>(Vec::loadu(gate.row(i) + j));
              store_rounded(g * Vec::loadu(up.row(i) + j), row + j, std::min<int64_t>(Vec::size(), columns - j));
            }
          }
        }
      }
    }
  });
}

// Rows whose hidden activations fit half of the second-level cache: a whole number of tiles, at least two.
template <typename T>
inline int64_t hidden_tile_rows(int64_t hidden) {
  const int64_t row_bytes = std::max<int64_t>(1, hidden * static_cast<int64_t>(sizeof(T)));
  return std::clamp<int64_t>(weight_block_bytes / row_bytes / tile_rows, 2, 16) * tile_rows;
}

// How a product of [rows, depth] and [columns, depth] is shared between threads: whole rows when there are enough
// of them to reuse each weight, else columns; serial when waking a thread would cost more than it brings.
enum class Split { serial, rows, columns };

inline Split split_for(int64_t rows, double flop) {
  const int threads = at::in_parallel_region() ? 1 : at::get_num_threads();
  if (threads == 1 || flop < 400e3) return Split::serial;
  return rows >= 16 * static_cast<int64_t>(threads) ? Split::rows : Split::columns;
}

// Calls body(begin, end) for shares of `count`, each a multiple of `step` but the last, one per thread.
template <typename Body>
void share(int64_t count, int64_t step, const Body& body) {
  const int64_t steps = (count + step - 1) / step;
  at::parallel_for(0, steps, 1, [&](int64_t begin, int64_t end) {
    body(begin * step, std::min(count, end * step));
  });
}

}  // namespace fused_mlp
