// Two products, the second on the rows the first has made. With many rows each thread takes some of them through
// both, its hidden tile staying in the second-level cache; with few, the threads share the columns of one product,
// then of the other.
#pragma once

#include "arguments.h"

namespace fused_mlp {

// Where threads share columns the hidden activations of all rows exist at once; beyond this many bytes, but never
// for fewer rows than repay reading the weights again, the rows are taken in chunks.
constexpr int64_t chunk_bytes = 32 * 1024 * 1024;
constexpr int64_t chunk_rows = 1024;

struct ChainSizes {
  int64_t rows, hidden, out_features;
  double flop;
};

// First: (number of the first row, its rows of x, how many, begin and end column, hidden out, its stride) → writes
// hidden columns. depth: elements of a row of x.
template <typename W, typename First>
void chain(
    const ChainSizes& sizes, const Rows<typename W::Element>& x, int64_t depth, const First& first, const W& down,
    const typename W::Element* bias, typename W::Element* y, Split split) {
  using Hidden = typename W::Left;
  const int64_t stride = left_stride<W>(sizes.hidden);
  const auto second = [&](const Hidden* hidden, int64_t rows, int64_t begin, int64_t end, auto* out) {
    product<W>({hidden, stride}, rows, down, bias, begin, end, Activation::none, out, sizes.out_features);
  };
  if (split == Split::columns) {
    const int64_t most = std::max(chunk_rows, chunk_bytes / std::max<int64_t>(1, stride * sizeof(Hidden)));
    const int64_t chunk = even_group(sizes.rows, most);
    auto some_hidden = left_scratch<W>(chunk, sizes.hidden);
    Scratch<Hidden> copied;
    for (int64_t r = 0; r < sizes.rows; r += chunk) {
      const int64_t rows = std::min(chunk, sizes.rows - r);
      const auto left = left_operand<W>({x.row(r), x.stride}, rows, depth, copied);
      share(sizes.hidden, panel_columns, [&](int64_t begin, int64_t end) {
        first(r, left, rows, begin, end, some_hidden.data(), stride);
      });
      share(sizes.out_features, panel_columns, [&](int64_t begin, int64_t end) {
        second(some_hidden.data(), rows, begin, end, y + r * sizes.out_features);
      });
    }
    return;
  }
  const auto some_rows = [&](int64_t begin, int64_t end) {
    const int64_t block = hidden_tile_rows(stride * static_cast<int64_t>(sizeof(Hidden)), down.tile_rows());
    const int64_t group = even_group(end - begin, block);
    auto tile = left_scratch<W>(group, sizes.hidden);
    Scratch<Hidden> copied;
    for (int64_t r = begin; r < end; r += group) {
      const int64_t n = std::min(group, end - r);
      const auto left = left_operand<W>({x.row(r), x.stride}, n, depth, copied);
      first(r, left, n, 0, sizes.hidden, tile.data(), stride);
      second(tile.data(), n, 0, sizes.out_features, y + r * sizes.out_features);
    }
  };
  if (split == Split::serial) {
    some_rows(0, sizes.rows);
  } else {
    share(sizes.rows, 1, some_rows);
  }
}

}  // namespace fused_mlp
