// Weights packed before the call, as a tensor: [panels, padded depth, panel_columns], for this CPU only.
#pragma once

#include "arguments.h"

namespace fused_mlp {

inline int64_t panel_count(int64_t columns) { return (columns + panel_columns - 1) / panel_columns; }

inline int64_t padded_depth_of(at::ScalarType type, int64_t depth) {
  int64_t padded = depth;
  FUSED_MLP_DISPATCH(type, { padded = padded_depth<scalar_t>(depth); })
  return padded;
}

inline void check_packed(
    const at::Tensor& w, const char* name, const at::Tensor& x, int64_t in_features, int64_t out_features) {
  TORCH_CHECK_VALUE(
      !(c10::GradMode::is_enabled() && x.requires_grad()),
      "x requires a gradient; expected none: packed weights are for inference");
  const std::array<int64_t, 3> expected{
      panel_count(out_features), padded_depth_of(x.scalar_type(), in_features), panel_columns};
  TORCH_CHECK_VALUE(
      w.sizes() == at::IntArrayRef(expected) && w.is_contiguous(), name, " has shape ", w.sizes(), "; expected ",
      at::IntArrayRef(expected), ", packed on this machine from [", out_features, ", ", in_features, "]");
  check_company(w, name, x);
}

// rows: of the whole call.
template <typename T>
inline PackedWeights<T> packed_of(const at::Tensor& w, int64_t depth, int64_t rows) {
  return {w.const_data_ptr<T>(), depth, takes_matrix_tiles<T>(rows)};
}

}  // namespace fused_mlp
