// The numbers that decide between ways to compute the same product, for each operation and dtype. Set once from the
// tuned table when the library is loaded; the values here hold for a machine the table does not know.
#pragma once

#include <c10/core/ScalarType.h>
#include <c10/util/Exception.h>

#include <atomic>
#include <cstdint>

namespace fused_mlp {

enum class Operation { linear, mlp, gated_mlp };

struct Policy {
  // Floating-point operations below which one thread computes alone.
  std::atomic<int64_t> serial_flop{400'000};
  // Rows per thread from which threads share rows instead of columns.
  std::atomic<int64_t> row_split_rows{48};
  // Rows from which plain weights are packed during the call.
  std::atomic<int64_t> repacking_rows{128};
};

inline Policy& policy_of(Operation operation, at::ScalarType dtype) {
  static Policy policies[3][3];
  Policy* of_operation = policies[static_cast<int>(operation)];
  switch (dtype) {
    case at::kFloat: return of_operation[0];
    case at::kBFloat16: return of_operation[1];
    case at::kHalf: return of_operation[2];
    default: TORCH_CHECK_VALUE(false, "x is ", dtype, "; expected float32, bfloat16 or float16");
  }
}

}  // namespace fused_mlp
