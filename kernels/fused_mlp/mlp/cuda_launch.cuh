// The launch of the CUDA C++ op, without a word of PyTorch.
#pragma once

#include "cuda_arguments.cuh"

#include <cuda_runtime_api.h>

namespace fused_mlp_cuda {

// Enqueues y = act(x·W1ᵀ + b1)·W2ᵀ + b2 on `stream`, one kernel, and says whether that went well. dim and out are at
// most kWidest; rows, out and y are not empty. Allocates nothing and waits for nothing: can be captured in a graph.
cudaError_t launch_mlp(Dtype dtype, const MlpArguments<void>& arguments, cudaStream_t stream);

}  // namespace fused_mlp_cuda
