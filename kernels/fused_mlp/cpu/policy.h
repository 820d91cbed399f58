// The numbers that decide between ways to compute the same product. Set once from the tuned table when the library
// is loaded; the values here hold for a machine the table does not know.
#pragma once

#include <atomic>
#include <cstdint>

namespace fused_mlp {

struct Policy {
  // Floating-point operations below which one thread computes alone.
  std::atomic<int64_t> serial_flop{400'000};
  // Rows per thread from which threads share rows instead of columns.
  std::atomic<int64_t> row_split_rows{48};
  // Rows from which plain weights are packed during the call.
  std::atomic<int64_t> repacking_rows{128};
};

inline Policy& policy() {
  static Policy instance;
  return instance;
}

}  // namespace fused_mlp
