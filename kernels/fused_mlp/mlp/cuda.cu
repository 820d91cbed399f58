// act(x·W1ᵀ + b1)·W2ᵀ + b2 in one kernel: Linear → activation → Linear in CUDA C++.
#include "cuda_launch.cuh"
#include "cuda_tile.cuh"

namespace fused_mlp_cuda {
namespace {

struct DeviceBlock {
  unsigned char* shared;

  __device__ __forceinline__ int warp() const { return static_cast<int>(threadIdx.x) / 32; }

  template <typename Body>
  __device__ __forceinline__ void each_lane(const Body& body) const {
    body(static_cast<int>(threadIdx.x));
  }

  __device__ __forceinline__ void barrier() const { __syncthreads(); }

  // 16 bytes past the registers and the first-level cache; zeros, and nothing read, where there is nothing to copy.
  __device__ __forceinline__ void start_copy(int, void* to, const void* from, bool inside) const {
    const auto address = static_cast<unsigned>(__cvta_generic_to_shared(to));
    const int bytes = inside ? 16 : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(address), "l"(from), "r"(bytes) : "memory");
  }

  __device__ __forceinline__ void finish_copies() const { asm volatile("cp.async.wait_all;\n" ::: "memory"); }
};

template <typename T, int kOut>
__device__ __forceinline__ void compute(const MlpArguments<T>& arguments) {
  extern __shared__ __align__(128) unsigned char shared[];
  DeviceBlock block{shared};
  compute_tile<T, kOut>(block, arguments, blockIdx.x);
}

}  // namespace

// In 16 bits two blocks fit a multiprocessor's shared memory, so that one computes while the other waits.
template <typename T>
constexpr int kBlocksAtOnce = sizeof(T) == 2 ? 2 : 1;

// Names without mangling, for profilers and for the reader of the machine code.
#define FUSED_MLP_KERNEL(name, T, kOut)                                             \
  extern "C" __global__ void __launch_bounds__(kThreads, kBlocksAtOnce<T>)          \
      name(const __grid_constant__ MlpArguments<T> given) {                         \
    compute<T, kOut>(given);                                                        \
  }

FUSED_MLP_KERNEL(mlp_cuda_float32_out64, float, 64)
FUSED_MLP_KERNEL(mlp_cuda_float32_out128, float, 128)
FUSED_MLP_KERNEL(mlp_cuda_float32_out256, float, 256)
FUSED_MLP_KERNEL(mlp_cuda_bfloat16_out64, __nv_bfloat16, 64)
FUSED_MLP_KERNEL(mlp_cuda_bfloat16_out128, __nv_bfloat16, 128)
FUSED_MLP_KERNEL(mlp_cuda_bfloat16_out256, __nv_bfloat16, 256)
FUSED_MLP_KERNEL(mlp_cuda_float16_out64, __half, 64)
FUSED_MLP_KERNEL(mlp_cuda_float16_out128, __half, 128)
FUSED_MLP_KERNEL(mlp_cuda_float16_out256, __half, 256)

namespace {

const void* kernel_for(Dtype dtype, int out) {
  static const void* const kernels[3][3] = {
      {reinterpret_cast<const void*>(mlp_cuda_float32_out64), reinterpret_cast<const void*>(mlp_cuda_float32_out128),
       reinterpret_cast<const void*>(mlp_cuda_float32_out256)},
      {reinterpret_cast<const void*>(mlp_cuda_bfloat16_out64), reinterpret_cast<const void*>(mlp_cuda_bfloat16_out128),
       reinterpret_cast<const void*>(mlp_cuda_bfloat16_out256)},
      {reinterpret_cast<const void*>(mlp_cuda_float16_out64), reinterpret_cast<const void*>(mlp_cuda_float16_out128),
       reinterpret_cast<const void*>(mlp_cuda_float16_out256)}};
  const int width = out_tile(out);
  return kernels[static_cast<int>(dtype)][width == 64 ? 0 : width == 128 ? 1 : 2];
}

}  // namespace

cudaError_t launch_mlp(Dtype dtype, const MlpArguments<void>& arguments, cudaStream_t stream) {
  const void* kernel = kernel_for(dtype, arguments.out);
  const size_t element_bytes = dtype == Dtype::float32 ? 4 : 2;
  const size_t bytes = shared_layout(element_bytes, arguments.dim, arguments.out).bytes;
  // More than 48 KB must be asked for.
  const auto granted =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
  if (granted != cudaSuccess) return granted;
  const auto tiles = static_cast<unsigned>((arguments.rows + kRows - 1) / kRows);
  // Every MlpArguments<T> holds the same pointers and sizes.
  MlpArguments<void> copied = arguments;
  void* parameters[] = {&copied};
  return cudaLaunchKernel(kernel, dim3(tiles), dim3(kThreads), parameters, bytes, stream);
}

}  // namespace fused_mlp_cuda
