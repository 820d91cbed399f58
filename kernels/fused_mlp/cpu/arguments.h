// What the kernels may rely on, checked before any memory is read. The Python side words the errors; these
// checks only keep a direct call of torch.ops from reading past an end.
#pragma once

#include <ATen/ATen.h>
#include <c10/util/Exception.h>

#include <optional>

#include "product.h"

namespace fused_mlp {

inline void check_weight(const at::Tensor& w, const char* name, const at::Tensor& x, int64_t in_features) {
  TORCH_CHECK_VALUE(
      w.dim() == 2 && w.size(1) == in_features, name, " has shape ", w.sizes(), "; expected [out, ", in_features, "]");
  TORCH_CHECK_VALUE(
      w.scalar_type() == x.scalar_type(), name, " is ", w.scalar_type(), "; expected ", x.scalar_type(), " as x");
  TORCH_CHECK_VALUE(w.device() == x.device(), name, " is on ", w.device(), "; expected ", x.device(), " as x");
}

inline void check_bias(const std::optional<at::Tensor>& b, const char* name, const at::Tensor& x, int64_t size) {
  if (!b.has_value()) return;
  TORCH_CHECK_VALUE(b->dim() == 1 && b->size(0) == size, name, " has shape ", b->sizes(), "; expected [", size, "]");
  TORCH_CHECK_VALUE(
      b->scalar_type() == x.scalar_type(), name, " is ", b->scalar_type(), "; expected ", x.scalar_type(), " as x");
  TORCH_CHECK_VALUE(b->device() == x.device(), name, " is on ", b->device(), "; expected ", x.device(), " as x");
}

// Rows of a matrix without a copy where its last dimension is contiguous; `kept` owns the copy otherwise.
template <typename T>
inline Rows<T> rows_of(const at::Tensor& matrix, at::Tensor& kept) {
  if (matrix.stride(-1) == 1 || matrix.size(-1) <= 1) {
    if (matrix.dim() == 2) return {matrix.const_data_ptr<T>(), matrix.stride(0)};
    if (matrix.is_contiguous()) return {matrix.const_data_ptr<T>(), matrix.size(-1)};
  }
  kept = matrix.contiguous();
  return {kept.const_data_ptr<T>(), matrix.size(-1)};
}

template <typename T>
inline const T* bias_of(const std::optional<at::Tensor>& b, at::Tensor& kept) {
  if (!b.has_value()) return nullptr;
  kept = b->contiguous();
  return kept.const_data_ptr<T>();
}

inline at::Tensor output_like(const at::Tensor& x, int64_t out_features) {
  auto sizes = at::DimVector(x.sizes());
  sizes.back() = out_features;
  return at::empty(sizes, x.options().memory_format(at::MemoryFormat::Contiguous));
}

inline int64_t row_count(const at::Tensor& x) {
  int64_t rows = 1;
  for (int64_t i = 0; i + 1 < x.dim(); ++i) rows *= x.size(i);
  return rows;
}

// A buffer for the hidden activations, aligned, not initialised.
template <typename T>
struct Scratch {
  c10::DataPtr memory;
  explicit Scratch(int64_t count)
      : memory(c10::GetAllocator(c10::kCPU)->allocate(static_cast<size_t>(count) * sizeof(T))) {}
  T* data() { return static_cast<T*>(memory.get()); }
};

}  // namespace fused_mlp

#define FUSED_MLP_DISPATCH(TYPE, ...)                                                             \
  switch (TYPE) {                                                                                 \
    case at::kFloat: { using scalar_t = float; __VA_ARGS__; break; }                              \
    case at::kBFloat16: { using scalar_t = at::BFloat16; __VA_ARGS__; break; }                    \
    case at::kHalf: { using scalar_t = at::Half; __VA_ARGS__; break; }                            \
    default:                                                                                      \
      TORCH_CHECK_VALUE(false, "x is ", TYPE, "; expected float32, bfloat16 or float16");         \
  }
