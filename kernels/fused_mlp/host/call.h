// One call of an operation, on weights as they are or on packed copies.
#pragma once

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "../cpu/typed_operator.h"

namespace fused_mlp {

using at::Tensor;
using MaybeTensor = std::optional<Tensor>;
using MaybeView = std::optional<std::string_view>;

using Linear = Tensor(const Tensor&, const Tensor&, const MaybeTensor&, std::string_view, MaybeView, MaybeView);
using Mlp = Tensor(
    const Tensor&, const Tensor&, const MaybeTensor&, const Tensor&, const MaybeTensor&, std::string_view, MaybeView,
    MaybeView);
using GatedMlp =
    Tensor(const Tensor&, const Tensor&, const Tensor&, const Tensor&, std::string_view, MaybeView, MaybeView);
using LinearPacked = Tensor(const Tensor&, const Tensor&, const MaybeTensor&, std::string_view, int64_t);
using MlpPacked = Tensor(
    const Tensor&, const Tensor&, const MaybeTensor&, const Tensor&, const MaybeTensor&, std::string_view, int64_t,
    int64_t);
using GatedMlpPacked =
    Tensor(const Tensor&, const Tensor&, const Tensor&, const Tensor&, std::string_view, int64_t, int64_t);
using LinearOnednn = Tensor(const Tensor&, const Tensor&, const MaybeTensor&, std::string_view);
using MlpOnednn =
    Tensor(const Tensor&, const Tensor&, const MaybeTensor&, const Tensor&, const MaybeTensor&, std::string_view);
using GatedMlpOnednn = Tensor(const Tensor&, const Tensor&, const Tensor&, const Tensor&, std::string_view);

enum class Operation { linear, mlp, gated_mlp };
using Weights = std::array<Tensor, 3>;

// What an operation is called with: as many weights and biases as it has.
struct Call {
  Operation operation;
  Tensor x;
  Weights w;
  std::array<MaybeTensor, 2> b;
  std::string activation, recompute;

  // Whether forward mode is on and rides on an argument: a call on packed copies would drop it.
  bool has_tangent() const {
    const auto carries = [](const Tensor& t) { return t.defined() && t._fw_grad(/*level=*/0).defined(); };
    return carries(x) || std::any_of(w.begin(), w.end(), carries) ||
        std::any_of(b.begin(), b.end(), [&](const MaybeTensor& t) { return t.has_value() && carries(*t); });
  }

  // Whether a weight was made under inference mode, of which torch's layers record no gradient, or refuse to.
  bool has_inference_weight() const {
    return std::any_of(w.begin(), w.end(), [](const Tensor& t) { return t.defined() && t.is_inference(); });
  }

  Tensor on_plain_weights() const {
    static const auto linear = typed_operator<Linear>("fused_mlp::linear");
    static const auto mlp = typed_operator<Mlp>("fused_mlp::mlp");
    static const auto gated_mlp = typed_operator<GatedMlp>("fused_mlp::gated_mlp");
    switch (operation) {
      case Operation::linear: return linear.call(x, w[0], b[0], activation, std::nullopt, recompute);
      case Operation::mlp: return mlp.call(x, w[0], b[0], w[1], b[1], activation, std::nullopt, recompute);
      default: return gated_mlp.call(x, w[0], w[1], w[2], activation, std::nullopt, recompute);
    }
  }

  Tensor on_panels(const Weights& p, int64_t n_first, int64_t n_last) const {
    static const auto linear = typed_operator<LinearPacked>("fused_mlp::linear_packed");
    static const auto mlp = typed_operator<MlpPacked>("fused_mlp::mlp_packed");
    static const auto gated_mlp = typed_operator<GatedMlpPacked>("fused_mlp::gated_mlp_packed");
    switch (operation) {
      case Operation::linear: return linear.call(x, p[0], b[0], activation, n_last);
      case Operation::mlp: return mlp.call(x, p[0], b[0], p[1], b[1], activation, n_first, n_last);
      default: return gated_mlp.call(x, p[0], p[1], p[2], activation, n_first, n_last);
    }
  }

  Tensor by_onednn(const Weights& p) const {
    static const auto linear = typed_operator<LinearOnednn>("fused_mlp::linear_onednn");
    static const auto mlp = typed_operator<MlpOnednn>("fused_mlp::mlp_onednn");
    static const auto gated_mlp = typed_operator<GatedMlpOnednn>("fused_mlp::gated_mlp_onednn");
    switch (operation) {
      case Operation::linear: return linear.call(x, p[0], b[0], activation);
      case Operation::mlp: return mlp.call(x, p[0], b[0], p[1], b[1], activation);
      default: return gated_mlp.call(x, p[0], p[1], p[2], activation);
    }
  }
};

// Some values of a matrix, spread over its rows and columns by steps of the golden ratio: an optimiser's step on a CPU
// and a write behind torch's back move no version counter. A bound on the cost of each call, not a proof.
constexpr int n_samples = 16;
inline std::array<uint32_t, n_samples> samples_of(const Tensor& w) {
  std::array<uint32_t, n_samples> samples{};
  if (w.numel() == 0) return samples;
  const auto* base = static_cast<const char*>(w.const_data_ptr());
  const auto n_bytes = std::min<size_t>(w.element_size(), sizeof(uint32_t));
  for (int i = 0; i < n_samples; ++i) {
    const double by_row = i * 0.6180339887, by_column = i * 0.7548776662;
    const auto row = static_cast<int64_t>((by_row - std::floor(by_row)) * w.size(0));
    const auto column = static_cast<int64_t>((by_column - std::floor(by_column)) * w.size(1));
    std::memcpy(&samples[i], base + (row * w.stride(0) + column * w.stride(1)) * w.element_size(), n_bytes);
  }
  return samples;
}

// Weights and their packed copies, and how to tell that the weights are what they were.
struct Pack {
  struct Source {
    // Holds the memory, so that its address is not given to another.
    Tensor weight;
    const void* address;
    std::array<int64_t, 2> strides;
    int64_t version;
    std::array<uint32_t, n_samples> samples;
  };
  std::vector<Source> sources;
  Weights packed;
  bool is_onednn;

  bool is_of(const Weights& weights) const {
    for (size_t i = 0; i < sources.size(); ++i) {
      const Tensor& w = weights[i];
      const Source& source = sources[i];
      if (!w.defined() || w.is_inference() || w._version() != source.version || w.const_data_ptr() != source.address ||
          w.sizes() != source.weight.sizes() || w.strides() != at::IntArrayRef(source.strides) ||
          samples_of(w) != source.samples) {
        return false;
      }
    }
    return true;
  }

  Tensor compute(const Call& call) const {
    if (is_onednn) return call.by_onednn(packed);
    return call.on_panels(packed, sources.front().weight.size(0), sources.back().weight.size(0));
  }
};

}  // namespace fused_mlp
