// Calls on a GPU by recipes: what an earlier call with the same sizes launched, kernel, grid and arguments, launched again
// on other addresses. Python makes a recipe the first time, the long way; a call that has none, or to which something else
// applies (a gradient, autocast, a graph being captured, a profiler's hook), goes the long way again.
#pragma once

#include <ATen/Context.h>
#include <ATen/Functions.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/record_function.h>
#include <c10/core/DeviceGuard.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <unordered_map>

#include "call.h"

namespace fused_mlp {

// CUDA's driver by the addresses of its functions: its headers and its library need not be here, and a test has its own.
struct Driver {
  using Launch = int(
      void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
      unsigned block_z, unsigned shared_bytes, void* stream, void** parameters, void** extra);
  Launch* launch = nullptr;                              // cuLaunchKernel
  int (*is_capturing)(void* stream, int* status) = nullptr;  // cuStreamIsCapturing
  int (*context)(void** current) = nullptr;              // cuCtxGetCurrent
  c10::DeviceType device_type = c10::DeviceType::CUDA;
};

enum class Level { pure, pointwise, epilogue, cublaslt, single };
// Tensors of a call by their place in it: arguments, the result, up to two hidden ones, scratch of float32.
enum Slot { x_slot, w0_slot, w1_slot, w2_slot, b0_slot, b1_slot, out_slot, h0_slot, h1_slot, scratch_slot, n_slots };
enum class Act : int64_t { none, relu, gelu, gelu_tanh, silu, quick_gelu };

// A kernel's parameter: the address of the tensor in a slot, or, where that is negative, a value as it was.
struct Parameter {
  int slot;
  uint64_t value;
};

struct Recipe {
  Level level;
  void* function;
  std::array<unsigned, 3> grid;
  unsigned n_threads, shared_bytes;
  int64_t n_scratch;
  std::vector<Parameter> parameters;
};

// All that a recipe depends on, but for what is asked of every call: alignment, contiguity, one device, one dtype.
struct Key {
  std::array<int64_t, 7> values;
  bool operator==(const Key& other) const { return values == other.values; }
};
struct KeyHash {
  size_t operator()(const Key& key) const {
    uint64_t hash = 14695981039346656037ull;
    for (const int64_t value : key.values) hash = (hash ^ static_cast<uint64_t>(value)) * 1099511628211ull;
    return hash ^ (hash >> 29);
  }
};

inline std::optional<Act> act_of(const std::string& name) {
  if (name == "relu") return Act::relu;
  if (name == "gelu") return Act::gelu;
  if (name == "gelu_tanh") return Act::gelu_tanh;
  if (name == "silu") return Act::silu;
  if (name == "quick_gelu") return Act::quick_gelu;
  if (name == "none") return Act::none;
  return std::nullopt;
}

// A call as recipes see it: its sizes, checked against each other.
struct SizedCall {
  const Call& call;
  int64_t rows, dim, hidden, n_out;
  Act act;

  const Tensor& last_weight() const {
    return call.w[call.operation == Operation::linear ? 0 : call.operation == Operation::mlp ? 1 : 2];
  }

  Key key(int64_t stream) const {
    const auto& context = at::globalContext();
    int64_t flags = static_cast<int64_t>(call.operation) | static_cast<int64_t>(act) << 4;
    flags |= static_cast<int64_t>(call.x.scalar_type()) << 8 | static_cast<int64_t>(call.x.get_device() & 255) << 16;
    flags |= static_cast<int64_t>(call.b[0].has_value()) << 24 | static_cast<int64_t>(call.b[1].has_value()) << 25;
    flags |= static_cast<int64_t>(context.deterministicAlgorithms()) << 26;
    // Which of these is what decides whether float32 is multiplied as tf32, and so by which level.
    if (call.x.scalar_type() == at::kFloat) flags |= static_cast<int64_t>(context.float32MatmulPrecision()) << 28;
    return {{rows, dim, hidden, n_out, stream, flags, 0}};
  }

  Tensor compute(const Recipe& recipe, const Driver& driver, void* stream) const {
    static constexpr const char* names[] = {"fused_mlp::linear", "fused_mlp::mlp", "fused_mlp::gated_mlp"};
    RECORD_FUNCTION(names[static_cast<int>(call.operation)], std::vector<c10::IValue>());
    at::AutoDispatchBelowADInplaceOrView below_autograd;
    const Tensor& x = call.x;
    std::array<Tensor, 4> made;  // out, h0, h1, scratch
    Tensor& h0 = made[1];
    const auto rows_of_x = [&] { return x.dim() == 2 ? x : x.view({rows, dim}); };
    const auto bias = [&](int i) { return call.b[i].has_value() ? *call.b[i] : Tensor(); };
    switch (recipe.level) {
      case Level::single:
        made[0] = at::empty({rows, n_out}, x.options());
        if (recipe.n_scratch > 0) made[3] = at::empty({recipe.n_scratch}, x.options().dtype(at::kFloat));
        break;
      case Level::epilogue:
        h0 = at::empty({rows, hidden}, x.options());
        break;
      case Level::cublaslt:
        h0 = at::_addmm_activation(bias(0), rows_of_x(), call.w[0].t(), 1, 1, act == Act::gelu_tanh);
        break;
      case Level::pointwise:
        h0 = at::mm(rows_of_x(), call.w[0].t());
        if (call.operation == Operation::gated_mlp) made[2] = at::mm(rows_of_x(), call.w[1].t());
        break;
      case Level::pure:
        h0 = product(rows_of_x(), call.w[0], bias(0));
        activate(h0);
        if (call.operation == Operation::gated_mlp) h0.mul_(at::mm(rows_of_x(), call.w[1].t()));
        break;
    }
    if (recipe.function != nullptr) launch(recipe, driver, stream, made);
    if (recipe.level != Level::single) {
      const bool is_linear = call.operation == Operation::linear;
      made[0] = is_linear ? h0 : product(h0, last_weight(), call.operation == Operation::mlp ? bias(1) : Tensor());
    }
    if (x.dim() == 2) return std::move(made[0]);
    std::vector<int64_t> shape = x.sizes().vec();
    shape.back() = n_out;
    return made[0].view(shape);
  }

 private:
  static Tensor product(const Tensor& x, const Tensor& w, const Tensor& b) {
    return b.defined() ? at::addmm(b, x, w.t()) : at::mm(x, w.t());
  }

  void activate(Tensor& z) const {
    switch (act) {
      case Act::none: return;
      case Act::relu: at::relu_(z); return;
      case Act::gelu: at::gelu_(z); return;
      case Act::gelu_tanh: at::gelu_(z, "tanh"); return;
      case Act::silu: at::silu_(z); return;
      case Act::quick_gelu: {
        const Tensor wide = z.to(at::kFloat);
        z.copy_(wide * at::sigmoid(wide * 1.702));
        return;
      }
    }
  }

  void launch(const Recipe& recipe, const Driver& driver, void* stream, const std::array<Tensor, 4>& made) const {
    std::array<uint64_t, n_slots> addresses{};
    const auto address = [](const Tensor& t) { return reinterpret_cast<uint64_t>(t.const_data_ptr()); };
    addresses[x_slot] = address(call.x);
    for (int i = 0; i < 3; ++i) {
      if (call.w[i].defined()) addresses[w0_slot + i] = address(call.w[i]);
    }
    for (int i = 0; i < 2; ++i) {
      if (call.b[i].has_value()) addresses[b0_slot + i] = address(*call.b[i]);
    }
    for (int i = 0; i < 4; ++i) {
      if (made[i].defined()) addresses[out_slot + i] = address(made[i]);
    }
    constexpr size_t most = 32;
    std::array<uint64_t, most> values;
    std::array<void*, most> pointers;
    for (size_t i = 0; i < recipe.parameters.size(); ++i) {
      const auto& [slot, value] = recipe.parameters[i];
      values[i] = slot < 0 ? value : addresses[slot];
      pointers[i] = &values[i];
    }
    const int failed = driver.launch(
        recipe.function, recipe.grid[0], recipe.grid[1], recipe.grid[2], recipe.n_threads, 1, 1, recipe.shared_bytes, stream,
        pointers.data(), nullptr);
    if (failed != 0) throw std::runtime_error("cuLaunchKernel failed");
  }
};

// Whether a recipe may know this tensor: plain, on that device and of that dtype, contiguous, its address a multiple of 16
// as Triton assumed of the one that it compiled for.
inline bool is_simple(const Tensor& t, const Tensor& x, int64_t n_dims) {
  constexpr c10::DispatchKeySet unusual({
      c10::DispatchKey::Conjugate, c10::DispatchKey::Negative, c10::DispatchKey::ZeroTensor, c10::DispatchKey::Python,
      c10::DispatchKey::Functionalize, c10::DispatchKey::FuncTorchBatched, c10::DispatchKey::FuncTorchGradWrapper});
  return t.defined() && t.layout() == c10::kStrided && !t.is_nested() && (t.key_set() & unusual).empty() &&
      (n_dims == 0 || t.dim() == n_dims) && t.device() == x.device() && t.scalar_type() == x.scalar_type() &&
      t.is_contiguous() && reinterpret_cast<uintptr_t>(t.const_data_ptr()) % 16 == 0;
}

// The call with its sizes, if recipes may know it.
inline std::optional<SizedCall> sized(const Call& call, const Driver& driver) {
  const Tensor& x = call.x;
  if (driver.launch == nullptr || !x.defined() || x.device().type() != driver.device_type) return std::nullopt;
  const auto act = act_of(call.activation);
  if (!act || x.dim() < 1 || x.numel() == 0 || !is_simple(x, x, 0)) return std::nullopt;
  const int n_weights = call.operation == Operation::linear ? 1 : call.operation == Operation::mlp ? 2 : 3;
  bool needs_grad = x.requires_grad();
  for (int i = 0; i < n_weights; ++i) {
    if (!is_simple(call.w[i], x, 2)) return std::nullopt;
    needs_grad = needs_grad || call.w[i].requires_grad();
  }
  const int64_t dim = x.size(-1), hidden = call.w[0].size(0);
  const Tensor& last = call.w[n_weights - 1];
  const int64_t n_out = last.size(0);
  bool fits = call.w[0].size(1) == dim && hidden > 0 && n_out > 0 && (n_weights == 1 || last.size(1) == hidden);
  if (n_weights == 3) fits = fits && call.w[1].size(0) == hidden && call.w[1].size(1) == dim;
  for (int i = 0; i < 2; ++i) {
    if (!call.b[i].has_value()) continue;
    const Tensor& b = *call.b[i];
    if (!is_simple(b, x, 1)) return std::nullopt;
    fits = fits && b.size(0) == (i == 0 ? hidden : n_out);
    needs_grad = needs_grad || b.requires_grad();
  }
  if (!fits || (needs_grad && c10::GradMode::is_enabled()) || call.has_tangent()) return std::nullopt;
  if (x.is_cuda() && at::autocast::is_autocast_enabled(at::kCUDA)) return std::nullopt;
  return SizedCall{call, x.numel() / dim, dim, hidden, n_out, *act};
}

}  // namespace fused_mlp
