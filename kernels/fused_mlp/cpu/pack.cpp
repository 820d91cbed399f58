// Packing weights into panels.
#include "packing.h"
#include "registration.h"

namespace fused_mlp {
namespace {

at::Tensor pack_cpu(const at::Tensor& w) {
  TORCH_CHECK_VALUE(w.dim() == 2, "w has shape ", w.sizes(), "; expected [out, in]");
  const int64_t columns = w.size(0), depth = w.size(1);
  at::Tensor packed =
      at::empty({panel_count(columns), padded_depth_of(w.scalar_type(), depth), panel_columns}, w.options());
  FUSED_MLP_DISPATCH(w.scalar_type(), {
    at::Tensor kept;
    const auto rows = rows_of<scalar_t>(w, kept);
    scalar_t* panels = packed.mutable_data_ptr<scalar_t>();
    share(columns, panel_columns, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; c += panel_columns) {
        pack_panel<scalar_t>(
            rows.row(c), rows.stride, std::min(panel_columns, end - c), depth,
            panels + c * padded_depth<scalar_t>(depth));
      }
    });
  })
  return packed;
}

}  // namespace

TORCH_LIBRARY_IMPL(fused_mlp, CPU, m) { m.impl("pack", pack_cpu); }

}  // namespace fused_mlp
