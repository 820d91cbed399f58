// Runs the blocks of the CUDA C++ example on the CPU; see cuda_on_host.h.
#include "cuda_on_host.h"

#include "cuda_example.cu"

#include <cstdlib>

namespace {

using namespace fused_mlp_cuda;

// Whether nothing was written beyond the shared memory that the launch asks for.
template <typename T, int kOut>
bool run_blocks(const Mlp<T>& mlp, int left_out) {
  const size_t bytes = Layout<T, kOut>(mlp.dim).bytes;
  for (blockIdx.x = 0; static_cast<int64_t>(blockIdx.x) * kRows < mlp.rows; ++blockIdx.x) {
    std::memset(shared, 0xff, sizeof shared);
    std::barrier<> everyone(kThreads);
    barriers = {&everyone, left_out};
    std::vector<std::thread> threads;
    for (unsigned index = 0; index < kThreads; ++index) {
      threads.emplace_back([&mlp, index] {
        threadIdx.x = index;
        mlp_kernel<T, kOut>(mlp);
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (size_t i = bytes; i < sizeof shared; ++i) {
      if (shared[i] != 0xff) return false;
    }
  }
  return true;
}

template <typename T>
bool run(const void* const (&inputs)[5], void* y, int64_t rows, const int (&sizes)[3], int activation, int left_out) {
  const auto data = [&inputs](int i) { return static_cast<const T*>(inputs[i]); };
  const Mlp<T> mlp{data(0), data(1), data(2), data(3), data(4), static_cast<T*>(y), rows,
                   sizes[0], sizes[1], sizes[2], static_cast<Activation>(activation)};
  return mlp.out <= 64    ? run_blocks<T, 64>(mlp, left_out)
         : mlp.out <= 128 ? run_blocks<T, 128>(mlp, left_out)
                          : run_blocks<T, 256>(mlp, left_out);
}

}  // namespace

// dtype: 0 float32, 1 bfloat16, 2 float16; activation by its place in the enum. Returns whether all went well.
extern "C" bool run_mlp(
    int dtype, int activation, const void* x, const void* w1, const void* b1, const void* w2, const void* b2, void* y,
    int64_t rows, int dim, int hidden, int out) {
  const void* const inputs[5] = {x, w1, b1, w2, b2};
  const int sizes[3] = {dim, hidden, out};
  const auto chosen = dtype == 0 ? run<float> : dtype == 1 ? run<c10::BFloat16> : run<c10::Half>;
  return chosen(inputs, y, rows, sizes, activation, -1);
}

// For a data race detector: two shapes, the barrier of the number given left out, none if it is -1.
int main(int, char** arguments) {
  constexpr int kRowsHere = 70, kHiddenHere = 40, kOutHere = 72, kDim = 33;
  const std::vector<float> zeros(kHiddenHere * 256);
  std::vector<float> y(kRowsHere * kOutHere);
  const void* const inputs[5] = {zeros.data(), zeros.data(), zeros.data(), zeros.data(), zeros.data()};
  const int sizes[3] = {kDim, kHiddenHere, kOutHere}, left_out = std::atoi(arguments[1]);
  const bool is_right = run<float>(inputs, y.data(), kRowsHere, sizes, 1, left_out) &&
                        run<c10::BFloat16>(inputs, y.data(), kRowsHere, sizes, 1, left_out);
  return is_right ? 0 : 1;
}
