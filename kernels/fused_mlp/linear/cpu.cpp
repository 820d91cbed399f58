// act(x·Wᵀ + b) on the CPU, in one pass over the output.
#include "../cpu/arguments.h"
#include "../cpu/registration.h"

namespace fused_mlp {
namespace {

at::Tensor linear_cpu(
    const at::Tensor& x, const at::Tensor& w, const std::optional<at::Tensor>& b, std::string_view activation_name) {
  const Activation activation = activation_from_name(activation_name);
  TORCH_CHECK_VALUE(x.dim() >= 1, "x has no dimension; expected [..., in]");
  const int64_t in = x.size(-1);
  check_weight(w, "w", x, in);
  const int64_t out_features = w.size(0), rows = row_count(x);
  check_bias(b, "b", x, out_features);
  at::Tensor out = output_like(x, out_features);
  if (out.numel() == 0) return out;

  FUSED_MLP_DISPATCH(x.scalar_type(), {
    at::Tensor x_kept, w_kept, b_kept;
    const auto x_rows = rows_of<scalar_t>(x, x_kept), w_rows = rows_of<scalar_t>(w, w_kept);
    const scalar_t* bias = bias_of<scalar_t>(b, b_kept);
    scalar_t* y = out.mutable_data_ptr<scalar_t>();
    const auto rows_and_columns = [&](int64_t r0, int64_t r1, int64_t c0, int64_t c1) {
      product<scalar_t>(
          {x_rows.row(r0), x_rows.stride}, r1 - r0, w_rows, bias, in, c0, c1, activation, y + r0 * out_features,
          out_features);
    };
    switch (split_for(rows, 2.0 * rows * in * out_features)) {
      case Split::serial: rows_and_columns(0, rows, 0, out_features); break;
      case Split::rows:
        share(rows, tile_rows, [&](int64_t begin, int64_t end) { rows_and_columns(begin, end, 0, out_features); });
        break;
      case Split::columns:
        share(out_features, 16, [&](int64_t begin, int64_t end) { rows_and_columns(0, rows, begin, end); });
        break;
    }
  })
  return out;
}

using Linear = at::Tensor(
    const at::Tensor&, const at::Tensor&, const std::optional<at::Tensor>&, std::string_view);

at::Tensor linear_autograd(
    c10::DispatchKeySet keys, const at::Tensor& x, const at::Tensor& w, const std::optional<at::Tensor>& b,
    std::string_view activation) {
  static const auto op = typed_operator<Linear>("fused_mlp::linear");
  return op.redispatch(keys_below(keys, x, w, b), x, w, b, activation);
}

}  // namespace

TORCH_LIBRARY_IMPL(fused_mlp, CPU, m) { m.impl("linear", linear_cpu); }
TORCH_LIBRARY_IMPL(fused_mlp, AutogradCPU, m) { m.impl("linear", linear_autograd); }

}  // namespace fused_mlp
