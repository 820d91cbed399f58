// Enough of CUDA C++ to run one block of the example on the CPU, a thread of the host for each of its threads.
//
// Shared memory starts as NaN and has a guard behind it. A fragment's first lane holds it whole and does the warp's
// work. One barrier can be left out, so that a data race detector can show that it is needed.
#pragma once

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <barrier>
#include <cstring>
#include <thread>
#include <vector>

#define __global__
#define __device__
#define __host__
#define __shared__
#define __align__(bytes)
#define __launch_bounds__(threads)

struct Index { unsigned x; };
inline thread_local Index threadIdx;
inline Index blockIdx;

struct Barriers {
  std::barrier<>* everyone;
  int left_out;
};
inline Barriers barriers;
inline thread_local int barriers_met;

inline void __syncthreads() {
  if (barriers_met++ != barriers.left_out) barriers.everyone->arrive_and_wait();
}

namespace nvcuda::wmma {

enum Layout { mem_row_major };
struct matrix_a {};
struct matrix_b {};
struct accumulator {};
struct row_major {};
struct col_major {};

template <typename Use, int M, int N, int K, typename T, typename Order = void>
struct fragment {
  T at[16][16];
};

inline bool is_first_lane() { return threadIdx.x % 32 == 0; }

template <typename Fragment>
void fill_fragment(Fragment& filled, float value) {
  for (auto& row : filled.at) {
    for (auto& element : row) element = value;
  }
}

// The rows of `from`, whether they are rows of a or columns of bᵀ.
template <typename Fragment, typename T>
void load_matrix_sync(Fragment& loaded, const T* from, int row) {
  if (!is_first_lane()) return;
  for (int i = 0; i < 16; ++i) {
    for (int k = 0; k < 16; ++k) loaded.at[i][k] = from[i * row + k];
  }
}

template <typename Sums, typename A, typename B>
void mma_sync(Sums& to, const A& a, const B& b, const Sums& from) {
  if (!is_first_lane()) return;
  for (int i = 0; i < 16; ++i) {
    for (int j = 0; j < 16; ++j) {
      float sum = from.at[i][j];
      for (int k = 0; k < 16; ++k) sum += static_cast<float>(a.at[i][k]) * static_cast<float>(b.at[j][k]);
      to.at[i][j] = sum;
    }
  }
}

template <typename Sums>
void store_matrix_sync(float* to, const Sums& stored, int row, Layout) {
  if (!is_first_lane()) return;
  for (int i = 0; i < 16; ++i) {
    for (int j = 0; j < 16; ++j) to[i * row + j] = stored.at[i][j];
  }
}

}  // namespace nvcuda::wmma

namespace fused_mlp_cuda {

constexpr size_t kSharedBytes = 232448, kGuardBytes = 4096;
alignas(128) inline unsigned char shared[kSharedBytes + kGuardBytes];

}  // namespace fused_mlp_cuda
