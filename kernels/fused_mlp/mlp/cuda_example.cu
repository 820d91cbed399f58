// fused_mlp::mlp_cuda: act(x·W1ᵀ + b1)·W2ᵀ + b2 as one CUDA kernel and as an operator of PyTorch.
//
// An example to learn from, in three parts: what a warp multiplies, what a block computes, how PyTorch calls it.
//
//            shared memory             registers                  shared memory          registers
//  x, once ─▶ 64 rows of x ─┐
//  W1 ──────▶ 32 rows of W1 ┴▶ 64 × 32 sums ─▶ +b1, act ─▶ 64 × 32 hidden ─┐
//  W2 ──────▶ 32 columns of W2 ────────────────────────────────────────────┴▶ 64 × out sums ─▶ +b2 ─▶ y
//
// The hidden activations never leave the chip. What it leaves out, for the reader's sake: copies that run while the
// tensor cores multiply, vectors of 16 bytes, Hopper's own matrix instructions (wgmma).
#ifdef __CUDACC__
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>
#endif

#include <cmath>
#include <cstddef>
#include <cstdint>

namespace fused_mlp_cuda {

constexpr int kRows = 64;     // of y, by one block
constexpr int kHidden = 32;   // hidden columns at a time
constexpr int kThreads = 256; // 8 warps
constexpr int kWidest = 256;  // x and y; x stays in shared memory, the sums of y in registers

enum class Activation { relu, gelu, gelu_tanh, silu, quick_gelu };

// All tensors are contiguous. x: [rows, dim], w1: [hidden, dim], b1: [hidden], w2: [out, hidden], b2: [out],
// y: [rows, out]; b1 and b2 may be null.
template <typename T>
struct Mlp {
  const T *x, *w1, *b1, *w2, *b2;
  T* y;
  int64_t rows;
  int dim, hidden, out;
  Activation activation;
};

__device__ inline float sigmoid(float z) { return 1.0f / (1.0f + expf(-z)); }

__device__ inline float activate(float z, Activation activation) {
  switch (activation) {
    case Activation::relu: return z < 0.0f ? 0.0f : z;
    case Activation::gelu: return 0.5f * z * (1.0f + erff(z * 0.70710678118654752f));
    // 0.5·(1 + tanh(u)) = sigmoid(2u): one exponential instead of a hyperbolic tangent.
    case Activation::gelu_tanh: return z * sigmoid(1.5957691216057308f * (z + 0.044715f * z * z * z));
    case Activation::silu: return z * sigmoid(z);
    case Activation::quick_gelu: return z * sigmoid(1.702f * z);
  }
  return z;
}

// 16 × 16 sums in the registers of one warp: sums += a·bᵀ, a and b: [16, depth] in shared memory, depth a multiple of
// 16. bfloat16 and float16 multiply on the tensor cores and are summed in float32.
template <typename T>
struct Tile {
  nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> sums;

  __device__ Tile() { nvcuda::wmma::fill_fragment(sums, 0.0f); }

  __device__ void multiply_add(const T* a, int a_row, const T* b, int b_row, int depth) {
    using namespace nvcuda::wmma;
    for (int k = 0; k < depth; k += 16) {
      fragment<matrix_a, 16, 16, 16, T, row_major> left;
      fragment<matrix_b, 16, 16, 16, T, col_major> right;  // rows of b are columns of bᵀ
      load_matrix_sync(left, a + k, a_row);
      load_matrix_sync(right, b + k, b_row);
      mma_sync(sums, left, right, sums);
    }
  }

  __device__ void store(float* to, int to_row) const {
    nvcuda::wmma::store_matrix_sync(to, sums, to_row, nvcuda::wmma::mem_row_major);
  }
};

// float32 without rounding to tf32, on the ordinary units: lane (i, j) of 4 × 8 has every fourth row, every eighth
// column, so that the reads of neighbouring lanes fall into different banks.
template <>
struct Tile<float> {
  float sums[4][2] = {};

  __device__ void multiply_add(const float* a, int a_row, const float* b, int b_row, int depth) {
    const int i = threadIdx.x % 32 / 8, j = threadIdx.x % 8;
    for (int k = 0; k < depth; ++k) {
      for (int r = 0; r < 4; ++r) {
        for (int c = 0; c < 2; ++c) sums[r][c] = fmaf(a[(i + 4 * r) * a_row + k], b[(j + 8 * c) * b_row + k], sums[r][c]);
      }
    }
  }

  __device__ void store(float* to, int to_row) const {
    const int i = threadIdx.x % 32 / 8, j = threadIdx.x % 8;
    for (int r = 0; r < 4; ++r) {
      for (int c = 0; c < 2; ++c) to[(i + 4 * r) * to_row + j + 8 * c] = sums[r][c];
    }
  }
};

// Where a block's tiles lie in shared memory: row lengths in elements, 16 bytes more than needed, so that rows start in
// different banks; offsets in bytes.
template <typename T, int kOut>
struct Layout {
  static constexpr int kPad = 16 / sizeof(T), kHiddenRow = kHidden + kPad, kSumsRow = kHidden + 4, kOutRow = kOut + 4;
  int depth, x_row;
  size_t w1, w2, hidden, sums, bytes;

  __host__ __device__ explicit Layout(int dim) : depth((dim + 15) / 16 * 16), x_row(depth + kPad) {
    w1 = kRows * x_row * sizeof(T);
    w2 = w1 + kHidden * x_row * sizeof(T);
    hidden = w2 + kOut * kHiddenRow * sizeof(T);
    sums = hidden + kRows * kHiddenRow * sizeof(T);
    bytes = sums + kRows * kSumsRow * sizeof(float);
    // At the end the sums of y take the place of everything else on their way out.
    const size_t leaving = kRows * kOutRow * sizeof(float);
    bytes = bytes > leaving ? bytes : leaving;
  }
};

// Copies a matrix's first tile_rows × tile_columns into shared memory; what lies beyond rows × columns counts as zero.
template <typename T>
__device__ void copy_tile(
    T* to, int to_row, int tile_rows, int tile_columns, const T* from, int64_t from_row, int64_t rows, int columns) {
  for (int i = threadIdx.x; i < tile_rows * tile_columns; i += kThreads) {
    const int row = i / tile_columns, column = i % tile_columns;
    const bool inside = row < rows && column < columns;
    to[row * to_row + column] = inside ? from[row * from_row + column] : static_cast<T>(0.0f);
  }
}

// y for 64 rows. For both products a pair of warps takes 16 rows, each of the two half of the columns.
template <typename T, int kOut>
__global__ void __launch_bounds__(kThreads) mlp_kernel(const Mlp<T> mlp) {
  extern __shared__ __align__(128) unsigned char shared[];
  using At = Layout<T, kOut>;
  const At at(mlp.dim);
  T* const x = reinterpret_cast<T*>(shared);
  T* const w1 = reinterpret_cast<T*>(shared + at.w1);
  T* const w2 = reinterpret_cast<T*>(shared + at.w2);
  T* const hidden = reinterpret_cast<T*>(shared + at.hidden);
  float* const z = reinterpret_cast<float*>(shared + at.sums);
  const int64_t first_row = static_cast<int64_t>(blockIdx.x) * kRows;
  const int warp = threadIdx.x / 32, row = warp / 2 * 16, half = warp % 2;

  copy_tile(x, at.x_row, kRows, at.depth, mlp.x + first_row * mlp.dim, mlp.dim, mlp.rows - first_row, mlp.dim);
  Tile<T> y[kOut / 32];
  for (int from = 0; from < mlp.hidden; from += kHidden) {
    const int left = mlp.hidden - from;
    __syncthreads();  // nobody reads the last W1, W2 and hidden any more
    copy_tile(w1, at.x_row, kHidden, at.depth, mlp.w1 + static_cast<int64_t>(from) * mlp.dim, mlp.dim, left, mlp.dim);
    copy_tile(w2, At::kHiddenRow, kOut, kHidden, mlp.w2 + from, mlp.hidden, mlp.out, left);
    __syncthreads();  // x, W1 and W2 are here
    Tile<T> product;
    product.multiply_add(x + row * at.x_row, at.x_row, w1 + 16 * half * at.x_row, at.x_row, at.depth);
    product.store(z + row * At::kSumsRow + 16 * half, At::kSumsRow);
    __syncthreads();  // z is here
    for (int i = threadIdx.x; i < kRows * kHidden; i += kThreads) {
      const int r = i / kHidden, c = i % kHidden;
      const float bias = mlp.b1 != nullptr && c < left ? static_cast<float>(mlp.b1[from + c]) : 0.0f;
      hidden[r * At::kHiddenRow + c] = static_cast<T>(activate(z[r * At::kSumsRow + c] + bias, mlp.activation));
    }
    __syncthreads();  // the hidden activations are here
#pragma unroll
    for (int c = 0; c < kOut / 32; ++c) {
      const T* const columns = w2 + (half * kOut / 2 + 16 * c) * At::kHiddenRow;
      y[c].multiply_add(hidden + row * At::kHiddenRow, At::kHiddenRow, columns, At::kHiddenRow, kHidden);
    }
  }

  __syncthreads();  // nobody reads shared memory any more
  float* const sums = reinterpret_cast<float*>(shared);
#pragma unroll
  for (int c = 0; c < kOut / 32; ++c) y[c].store(sums + row * At::kOutRow + half * kOut / 2 + 16 * c, At::kOutRow);
  __syncthreads();  // the sums of all warps are here
  for (int i = threadIdx.x; i < kRows * mlp.out; i += kThreads) {
    const int r = i / mlp.out, c = i % mlp.out;
    const float bias = mlp.b2 != nullptr ? static_cast<float>(mlp.b2[c]) : 0.0f;
    if (first_row + r < mlp.rows) {
      mlp.y[(first_row + r) * mlp.out + c] = static_cast<T>(sums[r * At::kOutRow + c] + bias);
    }
  }
}

}  // namespace fused_mlp_cuda

#ifdef __CUDACC__
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
  if (name == "relu") return Activation::relu;
  if (name == "gelu") return Activation::gelu;
  if (name == "gelu_tanh") return Activation::gelu_tanh;
  if (name == "silu") return Activation::silu;
  TORCH_CHECK_VALUE(
      name == "quick_gelu", "activation is '", name, "'; expected relu, gelu, gelu_tanh, silu or quick_gelu");
  return Activation::quick_gelu;
}

template <typename T, int kOut>
void launch(const Mlp<T>& mlp) {
  const auto kernel = mlp_kernel<T, kOut>;
  const int bytes = static_cast<int>(Layout<T, kOut>(mlp.dim).bytes);
  const auto blocks = static_cast<unsigned>((mlp.rows + kRows - 1) / kRows);
  // More than 48 KB must be asked for.
  C10_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  kernel<<<blocks, kThreads, bytes, c10::cuda::getCurrentCUDAStream()>>>(mlp);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

template <typename T>
void launch_as(const at::Tensor (&inputs)[5], const at::Tensor& y, Activation activation) {
  const auto data = [](const at::Tensor& t) { return t.defined() ? static_cast<const T*>(t.const_data_ptr()) : nullptr; };
  const auto& [x, w1, b1, w2, b2] = inputs;
  const Mlp<T> mlp{
      data(x), data(w1), data(b1), data(w2), data(b2), static_cast<T*>(y.mutable_data_ptr()), x.size(0),
      static_cast<int>(x.size(1)), static_cast<int>(w1.size(0)), static_cast<int>(w2.size(0)), activation};
  mlp.out <= 64 ? launch<T, 64>(mlp) : mlp.out <= 128 ? launch<T, 128>(mlp) : launch<T, 256>(mlp);
}

at::Tensor mlp_cuda(
    const at::Tensor& x, const at::Tensor& w1, const std::optional<at::Tensor>& b1, const at::Tensor& w2,
    const std::optional<at::Tensor>& b2, std::string_view activation) {
  const auto check = [&x](const char* name, const std::optional<at::Tensor>& t, at::IntArrayRef sizes) {
    TORCH_CHECK_VALUE(
        !t || (t->sizes() == sizes && t->scalar_type() == x.scalar_type() && t->device() == x.device()), name, " is ",
        t->scalar_type(), " ", t->sizes(), " on ", t->device(), "; expected ", x.scalar_type(), " ", sizes, " on ",
        x.device());
  };
  TORCH_CHECK_VALUE(x.dim() >= 1 && w1.dim() == 2 && w2.dim() == 2, "x, w1 and w2 are not all matrices");
  const int64_t dim = x.size(-1), hidden = w1.size(0), out = w2.size(0);
  check("w1", w1, {hidden, dim});
  check("b1", b1, {hidden});
  check("w2", w2, {out, hidden});
  check("b2", b2, {out});
  TORCH_CHECK_VALUE(
      dim <= kWidest && out <= kWidest && hidden <= INT32_MAX - kHidden, "dim is ", dim, ", hidden ", hidden, ", out ",
      out, "; expected dim and out of at most ", kWidest);

  const c10::cuda::CUDAGuard guard(x.device());
  auto sizes = x.sizes().vec();
  sizes.back() = out;
  at::Tensor y = at::empty(sizes, x.options().memory_format(at::MemoryFormat::Contiguous));
  if (y.numel() == 0) return y;
  const auto contiguous = [](const std::optional<at::Tensor>& t) { return t ? t->contiguous() : at::Tensor(); };
  const at::Tensor rows = x.contiguous().view({y.numel() / out, dim});
  const at::Tensor inputs[5] = {rows, w1.contiguous(), contiguous(b1), w2.contiguous(), contiguous(b2)};
  const Activation chosen = activation_from_name(activation);
  switch (x.scalar_type()) {
    case at::kFloat: launch_as<float>(inputs, y, chosen); break;
    case at::kBFloat16: launch_as<__nv_bfloat16>(inputs, y, chosen); break;
    case at::kHalf: launch_as<__half>(inputs, y, chosen); break;
    default: TORCH_CHECK_VALUE(false, "x is ", x.scalar_type(), "; expected float32, bfloat16 or float16");
  }
  return y;
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(fused_mlp, m) {
  m.def("mlp_cuda(Tensor x, Tensor w1, Tensor? b1, Tensor w2, Tensor? b2, str activation) -> Tensor");
}
TORCH_LIBRARY_IMPL(fused_mlp, CUDA, m) { m.impl("mlp_cuda", mlp_cuda); }

}  // namespace fused_mlp_cuda
#endif
