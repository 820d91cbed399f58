// The left operands of products: where rows of x lie so that a tile can read them, and buffers for hidden activations.
#pragma once

#include <ATen/Parallel.h>
#include <c10/core/CPUAllocator.h>

#include "product.h"

namespace fused_mlp {

// A buffer, aligned, not initialised.
template <typename T>
struct Scratch {
  c10::DataPtr memory;
  explicit Scratch(int64_t count = 0)
      : memory(count == 0 ? c10::DataPtr() : c10::GetAllocator(c10::kCPU)->allocate(count * sizeof(T))) {}
  T* data() { return static_cast<T*>(memory.get()); }
};

// Rows whose distance divides by 2 KiB share two of the first-level cache's sets: more of them than it has ways
// evict each other, and a tile of twelve reads every element from the second level (9 % slower, measured).
template <typename T>
constexpr bool is_aliased(int64_t stride) {
  return stride > 0 && stride * static_cast<int64_t>(sizeof(T)) % 2048 == 0;
}

// Elements from one row to the next of a left operand in a buffer of ours.
template <typename W>
inline int64_t left_stride(int64_t depth) {
  using Left = typename W::Left;
  if constexpr (std::is_same_v<W, PlainWeights<typename W::Element>>) {
    return depth;
  } else {
    const int64_t padded = padded_depth<typename W::Element>(depth);
    return is_aliased<Left>(padded) ? padded + 64 / static_cast<int64_t>(sizeof(Left)) : padded;
  }
}

// Room for the left operand of a product with W. Packed weights that multiply in pairs read one element past an odd
// row; it must not be a NaN.
template <typename W>
Scratch<typename W::Left> left_scratch(int64_t rows, int64_t depth) {
  const int64_t stride = left_stride<W>(depth);
  Scratch<typename W::Left> scratch(rows * stride);
  if constexpr (!std::is_same_v<W, PlainWeights<typename W::Element>>) {
    const int64_t padded = padded_depth<typename W::Element>(depth);
    for (int64_t r = 0; r < rows && depth < padded; ++r) {
      std::fill(scratch.data() + r * stride + depth, scratch.data() + r * stride + padded, typename W::Left(0));
    }
  }
  return scratch;
}

// The left operand of a product with W: rows of x as they are where a tile reads them well, else a copy in `copied`,
// widened, padded or moved apart. Threads share the copying of many rows.
template <typename W>
inline Rows<typename W::Left> left_operand(
    const Rows<typename W::Element>& x, int64_t rows, int64_t depth, Scratch<typename W::Left>& copied) {
  using Left = typename W::Left;
  // Fewer rows than the cache has ways stay where they are.
  constexpr int64_t few_rows = 4;
  if constexpr (std::is_same_v<W, PlainWeights<typename W::Element>>) {
    return x;
  } else {
    if constexpr (std::is_same_v<Left, typename W::Element>) {
      const bool is_padded = padded_depth<typename W::Element>(depth) == depth;
      if (is_padded && (rows <= few_rows || !is_aliased<Left>(x.stride))) return x;
    }
    const int64_t stride = left_stride<W>(depth);
    copied = left_scratch<W>(rows, depth);
    const int64_t rows_worth_a_thread = 1 + 65536 / std::max<int64_t>(1, depth);
    at::parallel_for(0, rows, rows_worth_a_thread, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        std::copy(x.row(r), x.row(r) + depth, copied.data() + r * stride);
      }
    });
    return {copied.data(), stride};
  }
}

}  // namespace fused_mlp
