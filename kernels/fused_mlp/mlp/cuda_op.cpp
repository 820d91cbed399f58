// fused_mlp::mlp_cuda: the CUDA C++ kernel as an operator of PyTorch. No gradient: fused_mlp::mlp has that.
#include "cuda_launch.cuh"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/library.h>

#include <string_view>

namespace fused_mlp_cuda {
namespace {

Activation activation_from_name(std::string_view name) {
  if (name == "gelu") return Activation::gelu;
  if (name == "silu") return Activation::silu;
  if (name == "relu") return Activation::relu;
  if (name == "gelu_tanh") return Activation::gelu_tanh;
  TORCH_CHECK_VALUE(name == "none", "activation is '", name, "'; expected none, relu, gelu, gelu_tanh or silu");
  return Activation::none;
}

Dtype dtype_from(at::ScalarType type) {
  if (type == at::kFloat) return Dtype::float32;
  if (type == at::kBFloat16) return Dtype::bfloat16;
  TORCH_CHECK_VALUE(type == at::kHalf, "x is ", type, "; expected float32, bfloat16 or float16");
  return Dtype::float16;
}

// The matrix with contiguous rows, copied only where it has none.
at::Tensor with_contiguous_rows(const at::Tensor& matrix) {
  return matrix.stride(1) == 1 || matrix.size(1) == 1 ? matrix : matrix.contiguous();
}

void check_operand(const at::Tensor& operand, const char* name, const at::Tensor& x, at::IntArrayRef sizes) {
  TORCH_CHECK_VALUE(
      operand.sizes() == sizes && operand.scalar_type() == x.scalar_type() && operand.device() == x.device(), name,
      " is ", operand.scalar_type(), " ", operand.sizes(), " on ", operand.device(), "; expected ", x.scalar_type(), " ",
      sizes, " on ", x.device());
}

at::Tensor mlp_cuda(
    const at::Tensor& x, const at::Tensor& w1, const std::optional<at::Tensor>& b1, const at::Tensor& w2,
    const std::optional<at::Tensor>& b2, std::string_view activation) {
  TORCH_CHECK_VALUE(x.dim() >= 1 && w1.dim() == 2 && w2.dim() == 2, "x, w1 and w2 are not all matrices");
  const int64_t dim = x.size(-1), hidden = w1.size(0), out = w2.size(0);
  TORCH_CHECK_VALUE(
      dim > 0 && dim <= kWidest && out <= kWidest && hidden > 0 && hidden <= INT32_MAX - kHidden, "dim is ", dim,
      ", hidden ", hidden, ", out ", out, "; expected dim and out of at most ", kWidest, " and none of them empty");
  check_operand(w1, "w1", x, {hidden, dim});
  check_operand(w2, "w2", x, {out, hidden});
  if (b1.has_value()) check_operand(*b1, "b1", x, {hidden});
  if (b2.has_value()) check_operand(*b2, "b2", x, {out});

  const c10::cuda::CUDAGuard guard(x.device());
  auto sizes = x.sizes().vec();
  sizes.back() = out;
  at::Tensor y = at::empty(sizes, x.options().memory_format(at::MemoryFormat::Contiguous));
  if (y.numel() == 0) return y;
  const at::Tensor x_rows = with_contiguous_rows(x.reshape({-1, dim}));
  const at::Tensor w1_rows = with_contiguous_rows(w1), w2_rows = with_contiguous_rows(w2);
  const at::Tensor b1_kept = b1.has_value() ? b1->contiguous() : at::Tensor();
  const at::Tensor b2_kept = b2.has_value() ? b2->contiguous() : at::Tensor();

  MlpArguments<void> given{};
  given.x = x_rows.const_data_ptr();
  given.w1 = w1_rows.const_data_ptr();
  given.w2 = w2_rows.const_data_ptr();
  given.b1 = b1_kept.defined() ? b1_kept.const_data_ptr() : nullptr;
  given.b2 = b2_kept.defined() ? b2_kept.const_data_ptr() : nullptr;
  given.y = y.mutable_data_ptr();
  given.rows = x_rows.size(0);
  given.x_row_stride = x_rows.stride(0);
  given.w1_row_stride = w1_rows.stride(0);
  given.w2_row_stride = w2_rows.stride(0);
  given.dim = static_cast<int>(dim);
  given.hidden = static_cast<int>(hidden);
  given.out = static_cast<int>(out);
  given.activation = activation_from_name(activation);
  const size_t element_bytes = x.element_size();
  given.x_by_vectors = is_by_vectors(given.x, given.x_row_stride, given.dim, element_bytes);
  given.w1_by_vectors = is_by_vectors(given.w1, given.w1_row_stride, given.dim, element_bytes);
  given.w2_by_vectors = is_by_vectors(given.w2, given.w2_row_stride, given.hidden, element_bytes);
  C10_CUDA_CHECK(launch_mlp(dtype_from(x.scalar_type()), given, c10::cuda::getCurrentCUDAStream()));
  return y;
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(fused_mlp, m) {
  m.def("mlp_cuda(Tensor x, Tensor w1, Tensor? b1, Tensor w2, Tensor? b2, str activation) -> Tensor");
}
TORCH_LIBRARY_IMPL(fused_mlp, CUDA, m) { m.impl("mlp_cuda", mlp_cuda); }

}  // namespace fused_mlp_cuda
