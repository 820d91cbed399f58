// The recipes of this process, kept and found with Python's lock held.
#pragma once

#include "launches.h"
#include "python.h"

namespace fused_mlp {

using Recipes = std::unordered_map<Key, std::shared_ptr<const Recipe>, KeyHash>;

inline Driver& driver() {
  static Driver once;
  return once;
}

// Whether the call under way on this thread would have gone by a recipe: calls from compiled graphs never do, and need make
// none; one of another thread may be within a capture, whose memory no recipe may hold.
inline bool& is_wanted() {
  static thread_local bool once = false;
  return once;
}

inline Recipes& recipes() {
  static Recipes once;
  return once;
}

// How many calls of this process went by one.
inline int64_t& n_by_recipe() {
  static int64_t once = 0;
  return once;
}

// What Python hands over with the driver and with each recipe, held for good: the current stream of a device by its index,
// and lists that hold something while somebody listens to launches.
struct Listeners {
  PyObject* current_stream = nullptr;
  std::array<PyObject*, 2> hooks{};
};

inline Listeners& listeners() {
  static Listeners once;
  return once;
}

inline std::optional<int64_t> number(PyObject* object) {
  const int64_t value = PyLong_AsLongLong(object);
  if (value == -1 && PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    return std::nullopt;
  }
  return value;
}

inline std::optional<int64_t> current_stream(const Tensor& x) {
  PyObject* index = PyLong_FromLong(x.get_device());
  PyObject* stream = index == nullptr ? nullptr : PyObject_CallOneArg(listeners().current_stream, index);
  Py_XDECREF(index);
  if (stream == nullptr) {
    PyErr_Clear();
    return std::nullopt;
  }
  const auto value = number(stream);
  Py_DECREF(stream);
  return value;
}

struct Found {
  std::shared_ptr<const Recipe> recipe;
  void* stream;
};

// The recipe of a call, unless it needs what only the long way does: tell a listener, take part in a capture, or make this
// thread's context. Only a call that needs none of that may make a recipe: a capture's memory is the graph's.
inline std::optional<Found> recipe_of(const SizedCall& call) {
  is_wanted() = false;
  for (PyObject* hooks : listeners().hooks) {
    // The first recipe brings them.
    if (hooks != nullptr && PyList_GET_SIZE(hooks) != 0) return std::nullopt;
  }
  const auto stream = current_stream(call.call.x);
  if (!stream) return std::nullopt;
  auto* const handle = reinterpret_cast<void*>(*stream);
  int status = 0;
  void* context = nullptr;
  if (driver().is_capturing(handle, &status) != 0 || status != 0) return std::nullopt;
  if (driver().context(&context) != 0 || context == nullptr) return std::nullopt;
  const auto found = recipes().find(call.key(*stream));
  is_wanted() = found == recipes().end();
  if (is_wanted()) return std::nullopt;
  return Found{found->second, handle};
}

inline std::optional<Level> level_of(const std::string& name) {
  if (name == "pure") return Level::pure;
  if (name == "pointwise") return Level::pointwise;
  if (name == "epilogue") return Level::epilogue;
  if (name == "cublaslt") return Level::cublaslt;
  if (name == "single") return Level::single;
  return std::nullopt;
}

// args: function, grid, threads, shared bytes, scratch elements, ((slot, value), ...), two lists of hooks.
inline bool keep_recipe(const SizedCall& call, const std::string& level_name, PyObject* const* args) {
  constexpr size_t most_parameters = 32, most_recipes = 4096;
  const auto level = level_of(level_name);
  const auto function = number(args[0]), n_threads = number(args[2]), shared = number(args[3]);
  const auto n_scratch = number(args[4]), stream = current_stream(call.call.x);
  PyObject *grid = args[1], *parameters = args[5], *hooks = args[6];
  if (!level || !function || !n_threads || !shared || !n_scratch || !stream || !PyTuple_Check(grid) ||
      PyTuple_GET_SIZE(grid) != 3 || !PyTuple_Check(parameters) || !PyTuple_Check(hooks) ||
      PyTuple_GET_SIZE(hooks) != 2 || static_cast<size_t>(PyTuple_GET_SIZE(parameters)) > most_parameters) {
    return false;
  }
  Recipe recipe{*level, reinterpret_cast<void*>(*function), {}, static_cast<unsigned>(*n_threads),
            static_cast<unsigned>(*shared), *n_scratch, {}};
  for (int i = 0; i < 3; ++i) {
    const auto extent = number(PyTuple_GET_ITEM(grid, i));
    if (!extent) return false;
    recipe.grid[i] = static_cast<unsigned>(*extent);
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(parameters); ++i) {
    PyObject* pair = PyTuple_GET_ITEM(parameters, i);
    if (!PyTuple_Check(pair) || PyTuple_GET_SIZE(pair) != 2) return false;
    const auto slot = number(PyTuple_GET_ITEM(pair, 0)), value = number(PyTuple_GET_ITEM(pair, 1));
    if (!slot || !value || *slot >= n_slots) return false;
    recipe.parameters.push_back({static_cast<int>(*slot), static_cast<uint64_t>(*value)});
  }
  for (int i = 0; i < 2; ++i) {
    PyObject* list = PyTuple_GET_ITEM(hooks, i);
    if (!PyList_Check(list)) return false;
    Py_INCREF(list);
    Py_XDECREF(listeners().hooks[i]);
    listeners().hooks[i] = list;
  }
  if (recipes().size() >= most_recipes) recipes().clear();
  recipes()[call.key(*stream)] = std::make_shared<const Recipe>(std::move(recipe));
  return true;
}

// (cuLaunchKernel, cuStreamIsCapturing, cuCtxGetCurrent, type of device, device index → current stream): addresses as
// numbers; all recipes are forgotten.
inline PyObject* use_driver(PyObject* const* args) {
  const auto launch = number(args[0]), is_capturing = number(args[1]), context = number(args[2]);
  std::string type;
  if (!launch || !is_capturing || !context || !read(args[3], type) || !PyCallable_Check(args[4])) return other_way();
  recipes().clear();
  driver() = {reinterpret_cast<Driver::Launch*>(*launch), reinterpret_cast<int (*)(void*, int*)>(*is_capturing),
              reinterpret_cast<int (*)(void**)>(*context),
              type == "cpu" ? c10::DeviceType::CPU : c10::DeviceType::CUDA};
  Py_INCREF(args[4]);
  Py_XDECREF(listeners().current_stream);
  listeners().current_stream = args[4];
  Py_RETURN_NONE;
}

}  // namespace fused_mlp
