// act(x·Wᵀ + b) on the CPU, in one pass over the output.
#include <torch/library.h>

#include "../cpu/arguments.h"
#include "../cpu/packing.h"

namespace fused_mlp {
namespace {

template <typename W>
void run_linear(
    const Rows<typename W::Element>& x, int64_t rows, int64_t in_features, int64_t out_features, const W& weights,
    const typename W::Element* bias, Activation activation, typename W::Element* y, Split split,
    const Kept<typename W::Element>& kept = {}) {
  const auto part = [&](const auto& left, int64_t r0, int64_t r1, int64_t c0, int64_t c1) {
    product<W>(left, r1 - r0, weights, bias, c0, c1, activation, y + r0 * out_features, out_features, kept.from_row(r0));
  };
  const auto some_rows = [&](int64_t r0, int64_t r1) {
    Scratch<typename W::Left> copied;
    part(left_operand<W>({x.row(r0), x.stride}, r1 - r0, in_features, copied), r0, r1, 0, out_features);
  };
  if (split == Split::serial) return some_rows(0, rows);
  if (split == Split::rows) return share(rows, 1, some_rows);
  Scratch<typename W::Left> copied;
  const auto left = left_operand<W>(x, rows, in_features, copied);
  share(out_features, panel_columns, [&](int64_t c0, int64_t c1) { part(left, 0, rows, c0, c1); });
}

// (y, z): z = x·Wᵀ + b where it is kept and is not y itself.
std::tuple<at::Tensor, at::Tensor> linear_with_kept(
    const at::Tensor& x, const at::Tensor& w, const std::optional<at::Tensor>& b, std::string_view activation_name,
    std::optional<std::string_view> implementation, Keep keep) {
  const Activation activation = activation_from_name(activation_name);
  check_implementation(implementation);
  check_input(x);
  const int64_t in_features = x.size(-1), rows = row_count(x);
  check_weight(w, "w", x, in_features);
  const int64_t out_features = w.size(0);
  check_bias(b, "b", x, out_features);
  const bool keep_z = keep != Keep::nothing && activation != Activation::none;
  at::Tensor out = output_like(x, out_features), z = kept_like(x, out_features, keep_z);
  if (out.numel() == 0) return {out, z};

  const Policy& policy = policy_of(Operation::linear, x.scalar_type());
  const Split split = split_for(policy, rows, 2.0 * rows * in_features * out_features);
  FUSED_MLP_DISPATCH(x.scalar_type(), {
    at::Tensor x_kept, w_kept, b_kept;
    const auto x_rows = rows_of<scalar_t>(x, x_kept), w_rows = rows_of<scalar_t>(w, w_kept);
    const scalar_t* bias = bias_of<scalar_t>(b, b_kept);
    scalar_t* y = out.mutable_data_ptr<scalar_t>();
    const Kept<scalar_t> kept{.z = kept_data<scalar_t>(z, keep_z), .stride = out_features};
    if (repacks(policy, rows)) {
      run_linear(
          x_rows, rows, in_features, out_features, RepackedWeights<scalar_t>(w_rows, in_features), bias, activation, y,
          Split::columns, kept);
    } else {
      run_linear(
          x_rows, rows, in_features, out_features, PlainWeights<scalar_t>{w_rows, in_features}, bias, activation, y,
          split, kept);
    }
  })
  return {out, z};
}

at::Tensor linear_cpu(
    const at::Tensor& x, const at::Tensor& w, const std::optional<at::Tensor>& b, std::string_view activation,
    std::optional<std::string_view> implementation, std::optional<std::string_view>) {
  return std::get<0>(linear_with_kept(x, w, b, activation, implementation, Keep::nothing));
}

std::tuple<at::Tensor, at::Tensor> linear_keeping_cpu(
    const at::Tensor& x, const at::Tensor& w, const std::optional<at::Tensor>& b, std::string_view activation,
    std::optional<std::string_view> implementation, std::optional<std::string_view> recompute) {
  return linear_with_kept(x, w, b, activation, implementation, keep_from_recompute(recompute));
}

at::Tensor linear_packed_cpu(
    const at::Tensor& x, const at::Tensor& w, const std::optional<at::Tensor>& b, std::string_view activation_name,
    int64_t out_features) {
  const Activation activation = activation_from_name(activation_name);
  check_input(x);
  const int64_t in_features = x.size(-1), rows = row_count(x);
  check_packed(w, "w", x, in_features, out_features);
  check_bias(b, "b", x, out_features);
  at::Tensor out = output_like(x, out_features);
  if (out.numel() == 0) return out;

  FUSED_MLP_DISPATCH(x.scalar_type(), {
    at::Tensor x_kept, b_kept;
    run_linear(
        rows_of<scalar_t>(x, x_kept), rows, in_features, out_features, packed_of<scalar_t>(w, in_features, rows),
        bias_of<scalar_t>(b, b_kept), activation, out.mutable_data_ptr<scalar_t>(),
        split_for(
            policy_of(Operation::linear, x.scalar_type()), rows, 2.0 * rows * in_features * out_features));
  })
  return out;
}

}  // namespace

TORCH_LIBRARY_IMPL(fused_mlp, CPU, m) {
  m.impl("linear", linear_cpu);
  m.impl("linear_keeping", linear_keeping_cpu);
  m.impl("linear_packed", linear_packed_cpu);
}

}  // namespace fused_mlp
