#include "product.h"

#include <torch/library.h>

namespace fused_mlp {
namespace {

void set_policy(int64_t serial_flop, int64_t row_split_rows, int64_t repacking_rows) {
  policy().serial_flop = serial_flop;
  policy().row_split_rows = row_split_rows;
  policy().repacking_rows = repacking_rows;
}

// What the kernels would do, in words: how the weights are read and how threads share the work.
std::string cpu_choice(int64_t rows, int64_t flop, bool packed) {
  if (!packed && repacks(rows)) return "repacked columns";
  const Split split = split_for(rows, static_cast<double>(flop));
  const char* shared_by = split == Split::serial ? "serial" : split == Split::rows ? "rows" : "columns";
  return std::string(packed ? "packed " : "plain ") + shared_by;
}

}  // namespace

TORCH_LIBRARY_IMPL(fused_mlp, CompositeExplicitAutograd, m) {
  m.impl("set_cpu_policy", set_policy);
  m.impl("cpu_choice", cpu_choice);
}

}  // namespace fused_mlp
