#include "policy.h"

#include <torch/library.h>

namespace fused_mlp {
namespace {

void set_policy(int64_t serial_flop, int64_t row_split_rows, int64_t repacking_rows) {
  policy().serial_flop = serial_flop;
  policy().row_split_rows = row_split_rows;
  policy().repacking_rows = repacking_rows;
}

}  // namespace

TORCH_LIBRARY_IMPL(fused_mlp, CompositeExplicitAutograd, m) { m.impl("set_cpu_policy", set_policy); }

}  // namespace fused_mlp
