// What the kernels may rely on, checked before any memory is read. The Python side words the errors; these
// checks only keep a direct call of torch.ops from reading past an end.
#pragma once

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <c10/util/Exception.h>

#include <optional>
#include <string>
#include <string_view>

#include "operands.h"

namespace fused_mlp {

inline void check_input(const at::Tensor& x) {
  TORCH_CHECK_VALUE(x.dim() >= 1, "x has no dimension; expected [..., features]");
}

inline void check_company(const at::Tensor& t, const char* name, const at::Tensor& x) {
  TORCH_CHECK_VALUE(
      t.scalar_type() == x.scalar_type(), name, " is ", t.scalar_type(), "; expected ", x.scalar_type(), " as x");
  TORCH_CHECK_VALUE(t.device() == x.device(), name, " is on ", t.device(), "; expected ", x.device(), " as x");
}

inline void check_weight(const at::Tensor& w, const char* name, const at::Tensor& x, int64_t in_features) {
  TORCH_CHECK_VALUE(
      w.dim() == 2 && w.size(1) == in_features, name, " has shape ", w.sizes(), "; expected [out, ", in_features, "]");
  check_company(w, name, x);
}

inline void check_bias(const std::optional<at::Tensor>& b, const char* name, const at::Tensor& x, int64_t size) {
  if (!b.has_value()) return;
  TORCH_CHECK_VALUE(b->dim() == 1 && b->size(0) == size, name, " has shape ", b->sizes(), "; expected [", size, "]");
  check_company(*b, name, x);
}

// On a CPU the op has one implementation; another by name is refused, never replaced.
inline void check_implementation(const std::optional<std::string_view>& implementation) {
  TORCH_CHECK_VALUE(
      !implementation.has_value() || *implementation == "cpp", "implementation is '",
      std::string(implementation.value_or("")), "'; expected cpp on the CPU");
}

inline at::Tensor output_like(const at::Tensor& x, int64_t out_features) {
  auto sizes = at::DimVector(x.sizes());
  sizes.back() = out_features;
  return at::empty(sizes, x.options().memory_format(at::MemoryFormat::Contiguous));
}

// What a forward pass keeps for the backward pass beside its inputs, by the name of what backward computes again.
enum class Keep { nothing, z, z_and_hidden };

inline Keep keep_from_recompute(const std::optional<std::string_view>& recompute) {
  if (!recompute.has_value() || *recompute == "activation") return Keep::z;
  if (*recompute == "all") return Keep::nothing;
  TORCH_CHECK_VALUE(
      *recompute == "nothing", "recompute is '", std::string(*recompute), "'; expected all, activation or nothing");
  return Keep::z_and_hidden;
}

// An uninitialised tensor of one row of `columns` for each row of x, or one without elements where it is not kept.
inline at::Tensor kept_like(const at::Tensor& x, int64_t columns, bool is_kept) {
  return is_kept ? output_like(x, columns) : at::empty({0}, x.options());
}

template <typename T>
inline T* kept_data(const at::Tensor& t, bool is_kept) {
  return is_kept ? t.mutable_data_ptr<T>() : nullptr;
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

inline int64_t row_count(const at::Tensor& x) {
  int64_t rows = 1;
  for (int64_t i = 0; i + 1 < x.dim(); ++i) rows *= x.size(i);
  return rows;
}

}  // namespace fused_mlp

#define FUSED_MLP_DISPATCH(TYPE, ...)                                                             \
  switch (TYPE) {                                                                                 \
    case at::kFloat: { using scalar_t = float; __VA_ARGS__; break; }                              \
    case at::kBFloat16: { using scalar_t = at::BFloat16; __VA_ARGS__; break; }                    \
    case at::kHalf: { using scalar_t = at::Half; __VA_ARGS__; break; }                            \
    default:                                                                                      \
      TORCH_CHECK_VALUE(false, "x is ", TYPE, "; expected float32, bfloat16 or float16");         \
  }
