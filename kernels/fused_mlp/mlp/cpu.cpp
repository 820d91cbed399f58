// act(x·W1ᵀ + b1)·W2ᵀ + b2 on the CPU.
#include <torch/library.h>

#include "../cpu/chain.h"
#include "../cpu/packing.h"

namespace fused_mlp {
namespace {

template <typename W>
void run_mlp(
    const Rows<typename W::Element>& x, int64_t dim, const ChainSizes& sizes, const W& w1,
    const typename W::Element* b1, const W& w2, const typename W::Element* b2, Activation activation,
    typename W::Element* y, Split split, const Kept<typename W::Element>& kept = {}) {
  const auto first = [&](int64_t r, const auto& some, int64_t rows, int64_t begin, int64_t end, auto* hidden,
                         int64_t stride) {
    product<W>(some, rows, w1, b1, begin, end, activation, hidden, stride, kept.from_row(r));
  };
  chain<W>(sizes, x, dim, first, w2, b2, y, split);
}

// (y, z, hidden): z = x·W1ᵀ + b1 and hidden = act(z) where they are kept.
using MlpKept = std::tuple<at::Tensor, at::Tensor, at::Tensor>;

MlpKept mlp_with_kept(
    const at::Tensor& x, const at::Tensor& w1, const std::optional<at::Tensor>& b1, const at::Tensor& w2,
    const std::optional<at::Tensor>& b2, std::string_view activation_name,
    std::optional<std::string_view> implementation, Keep keep) {
  const Activation activation = activation_from_name(activation_name);
  check_implementation(implementation);
  check_input(x);
  const int64_t dim = x.size(-1), rows = row_count(x);
  check_weight(w1, "w1", x, dim);
  const int64_t hidden = w1.size(0);
  check_weight(w2, "w2", x, hidden);
  const int64_t out_features = w2.size(0);
  check_bias(b1, "b1", x, hidden);
  check_bias(b2, "b2", x, out_features);
  const bool keep_z = keep != Keep::nothing, keep_hidden = keep == Keep::z_and_hidden;
  at::Tensor out = output_like(x, out_features);
  at::Tensor z = kept_like(x, hidden, keep_z), h = kept_like(x, hidden, keep_hidden);
  if (out.numel() == 0) return {out, z.zero_(), h.zero_()};

  const Policy& policy = policy_of(Operation::mlp, x.scalar_type());
  const ChainSizes sizes{rows, hidden, out_features, 2.0 * rows * hidden * (dim + out_features)};
  FUSED_MLP_DISPATCH(x.scalar_type(), {
    const Kept<scalar_t> kept{
        .z = kept_data<scalar_t>(z, keep_z), .hidden = kept_data<scalar_t>(h, keep_hidden), .stride = hidden};
    at::Tensor x_kept, w1_kept, w2_kept, b1_kept, b2_kept;
    const auto x_rows = rows_of<scalar_t>(x, x_kept);
    const auto w1_rows = rows_of<scalar_t>(w1, w1_kept), w2_rows = rows_of<scalar_t>(w2, w2_kept);
    const scalar_t* bias1 = bias_of<scalar_t>(b1, b1_kept);
    const scalar_t* bias2 = bias_of<scalar_t>(b2, b2_kept);
    scalar_t* y = out.mutable_data_ptr<scalar_t>();
    if (repacks(policy, rows)) {
      using W = RepackedWeights<scalar_t>;
      run_mlp<W>(
          x_rows, dim, sizes, W(w1_rows, dim), bias1, W(w2_rows, hidden), bias2, activation, y, Split::columns, kept);
    } else {
      using W = PlainWeights<scalar_t>;
      run_mlp<W>(
          x_rows, dim, sizes, W{w1_rows, dim}, bias1, W{w2_rows, hidden}, bias2, activation, y,
          split_for(policy, rows, sizes.flop), kept);
    }
  })
  return {out, z, h};
}

at::Tensor mlp_cpu(
    const at::Tensor& x, const at::Tensor& w1, const std::optional<at::Tensor>& b1, const at::Tensor& w2,
    const std::optional<at::Tensor>& b2, std::string_view activation, std::optional<std::string_view> implementation,
    std::optional<std::string_view>) {
  return std::get<0>(mlp_with_kept(x, w1, b1, w2, b2, activation, implementation, Keep::nothing));
}

MlpKept mlp_keeping_cpu(
    const at::Tensor& x, const at::Tensor& w1, const std::optional<at::Tensor>& b1, const at::Tensor& w2,
    const std::optional<at::Tensor>& b2, std::string_view activation, std::optional<std::string_view> implementation,
    std::optional<std::string_view> recompute) {
  return mlp_with_kept(x, w1, b1, w2, b2, activation, implementation, keep_from_recompute(recompute));
}

at::Tensor mlp_packed_cpu(
    const at::Tensor& x, const at::Tensor& w1, const std::optional<at::Tensor>& b1, const at::Tensor& w2,
    const std::optional<at::Tensor>& b2, std::string_view activation_name, int64_t hidden, int64_t out_features) {
  const Activation activation = activation_from_name(activation_name);
  check_input(x);
  const int64_t dim = x.size(-1), rows = row_count(x);
  check_packed(w1, "w1", x, dim, hidden);
  check_packed(w2, "w2", x, hidden, out_features);
  check_bias(b1, "b1", x, hidden);
  check_bias(b2, "b2", x, out_features);
  at::Tensor out = output_like(x, out_features);
  if (out.numel() == 0) return out;

  const Policy& policy = policy_of(Operation::mlp, x.scalar_type());
  const ChainSizes sizes{rows, hidden, out_features, 2.0 * rows * hidden * (dim + out_features)};
  FUSED_MLP_DISPATCH(x.scalar_type(), {
    at::Tensor x_kept, b1_kept, b2_kept;
    run_mlp<PackedWeights<scalar_t>>(
        rows_of<scalar_t>(x, x_kept), dim, sizes, packed_of<scalar_t>(w1, dim, rows), bias_of<scalar_t>(b1, b1_kept),
        packed_of<scalar_t>(w2, hidden, rows), bias_of<scalar_t>(b2, b2_kept), activation,
        out.mutable_data_ptr<scalar_t>(), split_for(policy, rows, sizes.flop));
  })
  return out;
}

}  // namespace

TORCH_LIBRARY_IMPL(fused_mlp, CPU, m) {
  m.impl("mlp", mlp_cpu);
  m.impl("mlp_keeping", mlp_keeping_cpu);
  m.impl("mlp_packed", mlp_packed_cpu);
}

}  // namespace fused_mlp
