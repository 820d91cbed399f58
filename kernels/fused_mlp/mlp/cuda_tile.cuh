// What one block of threads computes, for a GPU, and for a CPU that plays the block in the tests.
//
// The CPU has a thread for each warp and takes its lanes one after another; a Block says how lanes, barriers and
// asynchronous copies come about, a WarpTile how a warp multiplies. Everything else is the same code.
#pragma once

#include "cuda_arguments.cuh"

#include <cmath>

#ifdef __CUDACC__
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>
#define FUSED_MLP_DEVICE __device__ __forceinline__
#else
#define FUSED_MLP_DEVICE inline
#endif

namespace fused_mlp_cuda {

#ifdef __CUDACC__
FUSED_MLP_DEVICE float to_float(float value) { return value; }
FUSED_MLP_DEVICE float to_float(__half value) { return __half2float(value); }
FUSED_MLP_DEVICE float to_float(__nv_bfloat16 value) { return __bfloat162float(value); }
FUSED_MLP_DEVICE void round_to(float value, float& rounded) { rounded = value; }
FUSED_MLP_DEVICE void round_to(float value, __half& rounded) { rounded = __float2half_rn(value); }
FUSED_MLP_DEVICE void round_to(float value, __nv_bfloat16& rounded) { rounded = __float2bfloat16_rn(value); }
#else
template <typename T>
float to_float(T value) { return static_cast<float>(value); }
template <typename T>
void round_to(float value, T& rounded) { rounded = static_cast<T>(value); }
#endif

FUSED_MLP_DEVICE float sigmoid(float z) { return 1.0f / (1.0f + expf(-z)); }

FUSED_MLP_DEVICE float activate(float z, Activation activation) {
  switch (activation) {
    case Activation::relu: return z < 0.0f ? 0.0f : z;
    case Activation::gelu: return 0.5f * z * (1.0f + erff(z * 0.70710678118654752f));
    // 0.5·(1 + tanh(u)) = sigmoid(2u): one exponential instead of a hyperbolic tangent.
    case Activation::gelu_tanh: return z * sigmoid(1.5957691216057308f * (z + 0.044715f * z * z * z));
    case Activation::silu: return z * sigmoid(z);
    case Activation::none: break;
  }
  return z;
}

// 16·R rows × 16·C columns of sums, kept in the registers of one warp: sums += a·bᵀ, a: [16·R, depth],
// b: [16·C, depth], both in shared memory, depth a multiple of 16.
template <typename T, int R, int C>
struct WarpTile;

// float32 on the ordinary units, as torch computes it at "highest". Each of the warp's 4 × 8 lanes has every fourth
// row and every eighth column, so that reads of neighbouring lanes fall into different banks.
template <int R, int C>
struct WarpTile<float, R, C> {
#ifdef __CUDACC__
  static constexpr int kLanesHere = 1;
#else
  static constexpr int kLanesHere = 32;
#endif
  float sums[kLanesHere][4 * R][2 * C] = {};

  template <typename Body>
  FUSED_MLP_DEVICE static void each_lane(const Body& body) {
#ifdef __CUDACC__
    body(static_cast<int>(threadIdx.x) % 32, 0);
#else
    for (int lane = 0; lane < 32; ++lane) body(lane, lane);
#endif
  }

  struct alignas(16) Four { float at[4]; };

  FUSED_MLP_DEVICE void multiply_add(const float* a, int a_row, const float* b, int b_row, int depth) {
    each_lane([&](int lane, int slot) {
#pragma unroll 1
      for (int k = 0; k < depth; k += 4) {
        Four left[4 * R];
#pragma unroll
        for (int i = 0; i < 4 * R; ++i) left[i] = *reinterpret_cast<const Four*>(a + (lane / 8 + 4 * i) * a_row + k);
#pragma unroll
        for (int j = 0; j < 2 * C; ++j) {
          const Four right = *reinterpret_cast<const Four*>(b + (lane % 8 + 8 * j) * b_row + k);
#pragma unroll
          for (int i = 0; i < 4 * R; ++i) {
#pragma unroll
            for (int n = 0; n < 4; ++n) sums[slot][i][j] = fmaf(left[i].at[n], right.at[n], sums[slot][i][j]);
          }
        }
      }
    });
  }

  FUSED_MLP_DEVICE void store(float* out, int out_row) const {
    each_lane([&](int lane, int slot) {
#pragma unroll
      for (int i = 0; i < 4 * R; ++i) {
#pragma unroll
        for (int j = 0; j < 2 * C; ++j) out[(lane / 8 + 4 * i) * out_row + lane % 8 + 8 * j] = sums[slot][i][j];
      }
    });
  }
};

#ifdef __CUDACC__
// bfloat16 and float16 on the tensor cores, 16 × 16 × 16 at a time (mma.sync, sm_80 on), summed in float32.
template <typename T, int R, int C>
struct WarpTile {
  nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> sums[R][C];

  FUSED_MLP_DEVICE WarpTile() {
#pragma unroll
    for (int r = 0; r < R; ++r) {
#pragma unroll
      for (int c = 0; c < C; ++c) nvcuda::wmma::fill_fragment(sums[r][c], 0.0f);
    }
  }

  FUSED_MLP_DEVICE void multiply_add(const T* a, int a_row, const T* b, int b_row, int depth) {
    using namespace nvcuda::wmma;
    for (int k = 0; k < depth; k += 16) {
      fragment<matrix_a, 16, 16, 16, T, row_major> left[R];
#pragma unroll
      for (int r = 0; r < R; ++r) load_matrix_sync(left[r], a + 16 * r * a_row + k, a_row);
#pragma unroll
      for (int c = 0; c < C; ++c) {
        // Rows of b are columns of bᵀ.
        fragment<matrix_b, 16, 16, 16, T, col_major> right;
        load_matrix_sync(right, b + 16 * c * b_row + k, b_row);
#pragma unroll
        for (int r = 0; r < R; ++r) mma_sync(sums[r][c], left[r], right, sums[r][c]);
      }
    }
  }

  FUSED_MLP_DEVICE void store(float* out, int out_row) const {
#pragma unroll
    for (int r = 0; r < R; ++r) {
#pragma unroll
      for (int c = 0; c < C; ++c) {
        float* corner = out + 16 * r * out_row + 16 * c;
        nvcuda::wmma::store_matrix_sync(corner, sums[r][c], out_row, nvcuda::wmma::mem_row_major);
      }
    }
  }
};
#else
// What the matrix instructions are documented to compute, without their distribution over lanes.
template <typename T, int R, int C>
struct WarpTile {
  float sums[16 * R][16 * C] = {};

  void multiply_add(const T* a, int a_row, const T* b, int b_row, int depth) {
    for (int i = 0; i < 16 * R; ++i) {
      for (int j = 0; j < 16 * C; ++j) {
        for (int k = 0; k < depth; ++k) sums[i][j] += to_float(a[i * a_row + k]) * to_float(b[j * b_row + k]);
      }
    }
  }

  void store(float* out, int out_row) const {
    for (int i = 0; i < 16 * R; ++i) {
      for (int j = 0; j < 16 * C; ++j) out[i * out_row + j] = sums[i][j];
    }
  }
};
#endif

// A matrix in device memory from some row and column on: what lies beyond its end counts as zero.
template <typename T>
struct Source {
  const T* first;
  int64_t row_stride, rows_left;
  int columns_left;
  bool by_vectors;
};

// Starts to copy the first tile_rows × tile_columns of `from` into shared memory, where the tile is complete after
// block.finish_copies() and a barrier.
template <typename T, typename Block>
FUSED_MLP_DEVICE void copy_tile(
    Block& block, T* to, int to_row, int tile_rows, int tile_columns, const Source<T>& from) {
  constexpr int kVector = 16 / sizeof(T);
  block.each_lane([&](int thread) {
    if (from.by_vectors) {
      const int in_row = tile_columns / kVector;
#pragma unroll 2
      for (int i = thread; i < tile_rows * in_row; i += kThreads) {
        const int row = i / in_row, column = i % in_row * kVector;
        const bool inside = row < from.rows_left && column < from.columns_left;
        const T* source = inside ? from.first + row * from.row_stride + column : from.first;
        block.start_copy(thread, to + row * to_row + column, source, inside);
      }
    } else {
#pragma unroll 2
      for (int i = thread; i < tile_rows * tile_columns; i += kThreads) {
        const int row = i / tile_columns, column = i % tile_columns;
        const bool inside = row < from.rows_left && column < from.columns_left;
        if (inside) {
          to[row * to_row + column] = from.first[row * from.row_stride + column];
        } else {
          round_to(0.0f, to[row * to_row + column]);
        }
      }
    }
  });
}

// y for the 64 rows from 64·tile on. x is read once, the hidden activations live in shared memory only, 32 columns at
// a time, the sums of y in registers. While one product is computed the weights of the other are on their way.
template <typename T, int kOut, typename Block>
FUSED_MLP_DEVICE void compute_tile(Block& block, const MlpArguments<T>& with, int64_t tile) {
  const SharedLayout at = shared_layout(sizeof(T), with.dim, kOut);
  const int depth = rounded_up(with.dim, 16);
  const int64_t first_row = tile * kRows;
  const int warp = block.warp();
  T* const x = reinterpret_cast<T*>(block.shared);
  T* const w1 = reinterpret_cast<T*>(block.shared + at.w1);
  T* const w2 = reinterpret_cast<T*>(block.shared + at.w2);
  T* const hidden = reinterpret_cast<T*>(block.shared + at.hidden);
  float* const z = reinterpret_cast<float*>(block.shared + at.sums);

  const auto copy_w1 = [&](int from_hidden) {
    const T* first = with.w1 + from_hidden * with.w1_row_stride;
    copy_tile<T>(block, w1, at.x_row, kHidden, depth,
                 {first, with.w1_row_stride, with.hidden - from_hidden, with.dim, with.w1_by_vectors});
  };
  const T* first_of_x = with.x + first_row * with.x_row_stride;
  copy_tile<T>(block, x, at.x_row, kRows, depth,
               {first_of_x, with.x_row_stride, with.rows - first_row, with.dim, with.x_by_vectors});
  copy_w1(0);

  // For the first product the warps stand 4 × 2, each with 16 × 16; for the second 2 × 4, each with 32 × kOut/4.
  const int z_row = warp / 2 * 16, z_column = warp % 2 * 16;
  const int y_row = warp / 4 * 32, y_column = warp % 4 * (kOut / 4);
  WarpTile<T, 2, kOut / 64> y_sums;

  for (int from = 0; from < with.hidden; from += kHidden) {
    block.finish_copies();
    block.barrier();  // x and W1 are here, and nobody reads the last W2 and hidden any more
    copy_tile<T>(block, w2, at.hidden_row, kOut, kHidden,
                 {with.w2 + from, with.w2_row_stride, with.out, with.hidden - from, with.w2_by_vectors});
    WarpTile<T, 1, 1> z_sums;
    z_sums.multiply_add(x + z_row * at.x_row, at.x_row, w1 + z_column * at.x_row, at.x_row, depth);
    z_sums.store(z + z_row * at.sums_row + z_column, at.sums_row);
    block.finish_copies();
    block.barrier();  // z and W2 are here, and nobody reads W1 any more
    if (from + kHidden < with.hidden) copy_w1(from + kHidden);
    block.each_lane([&](int thread) {
      const int column = thread % kHidden;
      const bool has_bias = with.b1 != nullptr && from + column < with.hidden;
      const float bias = has_bias ? to_float(with.b1[from + column]) : 0.0f;
#pragma unroll 2
      for (int row = thread / kHidden; row < kRows; row += kThreads / kHidden) {
        const float value = activate(z[row * at.sums_row + column] + bias, with.activation);
        round_to(value, hidden[row * at.hidden_row + column]);
      }
    });
    block.barrier();  // the hidden activations are here
    y_sums.multiply_add(hidden + y_row * at.hidden_row, at.hidden_row, w2 + y_column * at.hidden_row, at.hidden_row,
                        kHidden);
  }

  block.finish_copies();
  block.barrier();  // nobody reads shared memory any more
  float* const leaving = reinterpret_cast<float*>(block.shared);
  constexpr int kLeavingRow = kOut + 4;
  y_sums.store(leaving + y_row * kLeavingRow + y_column, kLeavingRow);
  block.barrier();  // the sums of all warps are here
  block.each_lane([&](int thread) {
    for (int row = thread / 32; row < kRows && first_row + row < with.rows; row += kWarps) {
      for (int column = thread % 32; column < with.out; column += 32) {
        const float bias = with.b2 == nullptr ? 0.0f : to_float(with.b2[column]);
        round_to(leaving[row * kLeavingRow + column] + bias, with.y[(first_row + row) * with.out + column]);
      }
    }
  });
}

}  // namespace fused_mlp_cuda
