#include "product.h"

#include <torch/library.h>

namespace fused_mlp {
namespace {

Operation operation_from_name(std::string_view name) {
  if (name == "linear") return Operation::linear;
  if (name == "mlp") return Operation::mlp;
  if (name == "gated_mlp") return Operation::gated_mlp;
  TORCH_CHECK_VALUE(false, "operation is '", std::string(name), "'; expected linear, mlp or gated_mlp");
}

void set_policy(
    std::string_view operation, at::ScalarType dtype, int64_t serial_flop, int64_t row_split_rows,
    int64_t repacking_rows) {
  Policy& policy = policy_of(operation_from_name(operation), dtype);
  policy.serial_flop = serial_flop;
  policy.row_split_rows = row_split_rows;
  policy.repacking_rows = repacking_rows;
}

// What the kernels would do, in words: how the weights are read and how threads share the work.
std::string cpu_choice(std::string_view operation, at::ScalarType dtype, int64_t rows, int64_t flop, bool packed) {
  const Policy& policy = policy_of(operation_from_name(operation), dtype);
  if (!packed && repacks(policy, rows)) return "repacked columns";
  const Split split = split_for(policy, rows, static_cast<double>(flop));
  const char* shared_by = split == Split::serial ? "serial" : split == Split::rows ? "rows" : "columns";
  return std::string(packed ? "packed " : "plain ") + shared_by;
}

}  // namespace

TORCH_LIBRARY_IMPL(fused_mlp, CompositeExplicitAutograd, m) {
  m.impl("set_cpu_policy", set_policy);
  m.impl("cpu_choice", cpu_choice);
}

}  // namespace fused_mlp
