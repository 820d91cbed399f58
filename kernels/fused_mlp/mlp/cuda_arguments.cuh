// What the CUDA C++ op of Linear → activation → Linear is given, and how much of a multiprocessor it takes.
#pragma once

#include <cstddef>
#include <cstdint>

#ifdef __CUDACC__
#define FUSED_MLP_BOTH __host__ __device__
#else
#define FUSED_MLP_BOTH
#endif

namespace fused_mlp_cuda {

enum class Dtype { float32, bfloat16, float16 };
enum class Activation { none, relu, gelu, gelu_tanh, silu };

// One block: 64 rows by 256 threads, which take the hidden activations 32 at a time.
constexpr int kRows = 64;
constexpr int kHidden = 32;
constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;
// The widest x and y; x stays in shared memory, the sums of y in registers.
constexpr int kWidest = 256;

// y = act(x·W1ᵀ + b1)·W2ᵀ + b2. x: [rows, dim], w1: [hidden, dim], b1: [hidden], w2: [out, hidden], b2: [out],
// y: [rows, out] contiguous; strides in elements, the last dimension of each contiguous; biases may be null.
// The *_by_vectors: whether every row starts on 16 bytes and ends on them.
template <typename T>
struct MlpArguments {
  const T *x, *w1, *b1, *w2, *b2;
  T* y;
  int64_t rows, x_row_stride, w1_row_stride, w2_row_stride;
  int dim, hidden, out;
  Activation activation;
  bool x_by_vectors, w1_by_vectors, w2_by_vectors;
};

// Whether each row of a matrix can be copied in vectors of 16 bytes, none of which reaches beyond it.
inline bool is_by_vectors(const void* first, int64_t row_stride, int columns, size_t element_bytes) {
  const auto vector = static_cast<int64_t>(16 / element_bytes);
  return reinterpret_cast<uintptr_t>(first) % 16 == 0 && row_stride % vector == 0 && columns % vector == 0;
}

FUSED_MLP_BOTH constexpr int rounded_up(int value, int multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// How wide the sums of y are: the kernels are compiled for 64, 128 and 256 columns.
FUSED_MLP_BOTH constexpr int out_tile(int out) {
  return out <= 64 ? 64 : out <= 128 ? 128 : 256;
}

// Where the tiles lie in shared memory: byte offsets, each a multiple of 128 (the matrix instructions need 32), and
// row lengths in elements. Rows are one vector longer than they need be, so that they start in different banks.
struct SharedLayout {
  int x_row, hidden_row, sums_row;
  size_t w1, w2, hidden, sums, bytes;
};

FUSED_MLP_BOTH constexpr size_t aligned(size_t bytes) {
  return (bytes + 127) / 128 * 128;
}

FUSED_MLP_BOTH constexpr SharedLayout shared_layout(size_t element_bytes, int dim, int out) {
  SharedLayout layout{};
  const int vector = static_cast<int>(16 / element_bytes);
  layout.x_row = rounded_up(dim, 16) + vector;
  layout.hidden_row = kHidden + vector;
  layout.sums_row = kHidden + 4;
  layout.w1 = aligned(kRows * layout.x_row * element_bytes);
  layout.w2 = layout.w1 + aligned(kHidden * layout.x_row * element_bytes);
  layout.hidden = layout.w2 + aligned(out_tile(out) * layout.hidden_row * element_bytes);
  layout.sums = layout.hidden + aligned(kRows * layout.hidden_row * element_bytes);
  layout.bytes = layout.sums + aligned(kRows * layout.sums_row * sizeof(float));
  // At the end the sums of y take the place of everything else on their way out.
  const size_t leaving = kRows * (out_tile(out) + 4) * sizeof(float);
  layout.bytes = layout.bytes > leaving ? layout.bytes : leaving;
  return layout;
}

}  // namespace fused_mlp_cuda
