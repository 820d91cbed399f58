// Plays the blocks of the CUDA C++ op on the CPU: a thread for each warp, which takes its 32 lanes in turn.
//
// Shared memory starts as NaN and has guards behind it. The place of an asynchronous copy is NaN from its start until
// it is waited for. One barrier can be left out, so that a data race detector can show that it is needed.
#include "cuda_tile.cuh"

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <barrier>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

namespace {

using namespace fused_mlp_cuda;

constexpr size_t kGuardBytes = 4096;
constexpr int kMisaligned = 1, kBeyondShared = 2;

struct HostBlock {
  struct Copy {
    void* to;
    const void* from;
    bool inside;
  };

  unsigned char* shared;
  std::barrier<>& everyone;
  int warp_index, left_out;
  int barriers = 0;
  bool misaligned = false;
  std::vector<Copy> under_way{};

  int warp() const { return warp_index; }

  template <typename Body>
  void each_lane(const Body& body) const {
    for (int lane = 0; lane < 32; ++lane) body(32 * warp_index + lane);
  }

  void barrier() {
    if (barriers++ != left_out) everyone.arrive_and_wait();
  }

  void start_copy(int, void* to, const void* from, bool inside) {
    const auto is_off = [](const void* place) { return reinterpret_cast<uintptr_t>(place) % 16 != 0; };
    misaligned = misaligned || is_off(to) || (inside && is_off(from));
    std::memset(to, 0xff, 16);
    under_way.push_back({to, from, inside});
  }

  void finish_copies() {
    for (const Copy& copy : under_way) {
      if (copy.inside) {
        std::memcpy(copy.to, copy.from, 16);
      } else {
        std::memset(copy.to, 0, 16);
      }
    }
    under_way.clear();
  }
};

template <typename T, int kOut>
int play_tile(const MlpArguments<T>& with, int64_t tile, int left_out) {
  const size_t bytes = shared_layout(sizeof(T), with.dim, kOut).bytes;
  const std::unique_ptr<unsigned char, decltype(&std::free)> shared(
      static_cast<unsigned char*>(std::aligned_alloc(128, bytes + kGuardBytes)), &std::free);
  std::memset(shared.get(), 0xff, bytes + kGuardBytes);
  std::barrier<> everyone(kWarps);
  bool misaligned[kWarps] = {};
  std::vector<std::thread> warps;
  for (int warp = 0; warp < kWarps; ++warp) {
    warps.emplace_back([&, warp] {
      HostBlock block{shared.get(), everyone, warp, left_out};
      compute_tile<T, kOut>(block, with, tile);
      misaligned[warp] = block.misaligned;
    });
  }
  for (std::thread& warp : warps) warp.join();
  for (const bool each : misaligned) {
    if (each) return kMisaligned;
  }
  for (size_t i = 0; i < kGuardBytes; ++i) {
    if (shared.get()[bytes + i] != 0xff) return kBeyondShared;
  }
  return 0;
}

template <typename T>
int play(const MlpArguments<void>& given, int left_out) {
  // Every MlpArguments<T> holds the same pointers and sizes.
  MlpArguments<T> with;
  static_assert(sizeof with == sizeof given);
  std::memcpy(static_cast<void*>(&with), &given, sizeof with);
  with.x_by_vectors = is_by_vectors(with.x, with.x_row_stride, with.dim, sizeof(T));
  with.w1_by_vectors = is_by_vectors(with.w1, with.w1_row_stride, with.dim, sizeof(T));
  with.w2_by_vectors = is_by_vectors(with.w2, with.w2_row_stride, with.hidden, sizeof(T));
  for (int64_t tile = 0; tile * kRows < with.rows; ++tile) {
    const int width = out_tile(with.out);
    const int fault = width == 64    ? play_tile<T, 64>(with, tile, left_out)
                      : width == 128 ? play_tile<T, 128>(with, tile, left_out)
                                     : play_tile<T, 256>(with, tile, left_out);
    if (fault) return fault;
  }
  return 0;
}

int play_as(Dtype dtype, const MlpArguments<void>& given, int left_out) {
  switch (dtype) {
    case Dtype::float32: return play<float>(given, left_out);
    case Dtype::bfloat16: return play<c10::BFloat16>(given, left_out);
    case Dtype::float16: return play<c10::Half>(given, left_out);
  }
  return -1;
}

}  // namespace

// 0, or what went wrong. Strides in elements; activation and dtype by their places in the enums.
extern "C" int play_mlp(
    int dtype, int activation, const void* x, const void* w1, const void* b1, const void* w2, const void* b2, void* y,
    int64_t rows, int dim, int hidden, int out, int64_t x_row_stride, int64_t w1_row_stride, int64_t w2_row_stride) {
  const MlpArguments<void> given{
      x, w1, b1, w2, b2, y, rows, x_row_stride, w1_row_stride, w2_row_stride, dim, hidden, out,
      static_cast<Activation>(activation), false, false, false};
  return play_as(static_cast<Dtype>(dtype), given, -1);
}

extern "C" int64_t shared_bytes(int element_bytes, int dim, int out) {
  return static_cast<int64_t>(shared_layout(static_cast<size_t>(element_bytes), dim, out).bytes);
}

// For a data race detector: a few shapes, the barrier of the number given left out, none if it is -1.
int main(int, char** arguments) {
  const int left_out = std::atoi(arguments[1]);
  for (const Dtype dtype : {Dtype::float32, Dtype::bfloat16}) {
    for (const int dim : {40, 33}) {
      constexpr int kRowsHere = 70, kHiddenHere = 70, kOutHere = 72;
      const std::vector<float> zeros(kHiddenHere * 256);
      std::vector<float> y(kRowsHere * kOutHere);
      const MlpArguments<void> given{
          zeros.data(), zeros.data(), zeros.data(), zeros.data(), zeros.data(), y.data(), kRowsHere, dim, dim,
          kHiddenHere, dim, kHiddenHere, kOutHere, Activation::gelu, false, false, false};
      if (const int fault = play_as(dtype, given, left_out)) return fault;
    }
  }
  return 0;
}
