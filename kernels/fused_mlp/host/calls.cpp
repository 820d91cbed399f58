// The short way from a Python call to the ops. torch.ops parses arguments by schema, at half the price of a small call;
// here they are read as what they nearly always are, plain tensors outside of any mode, and everything else is left to
// torch.ops: a function returns NotImplemented where it does not apply, and where C++ refused the arguments, so that the
// long way words the error.
#include <ATen/PythonTorchFunctionTLS.h>
#include <ATen/autocast_mode.h>
#include <pybind11/pybind11.h>

#include <memory>
#include <utility>

#include "call.h"
#include "recipes.h"
#include "python.h"

namespace fused_mlp {
namespace {

// No mode, transform or tracer sees calls: nothing is switched on beside the dispatcher's own defaults.
bool is_plain_context() {
  constexpr c10::DispatchKeySet usual({c10::DispatchKey::BackendSelect, c10::DispatchKey::ADInplaceOrView});
  const auto included = c10::impl::tls_local_dispatch_key_set().included_;
  return (included - usual).empty() && !at::impl::torch_function_mode_enabled();
}

struct WithoutGil {
  PyThreadState* state = PyEval_SaveThread();
  ~WithoutGil() { PyEval_RestoreThread(state); }
};

// The result of `compute`, a call of an op. What Python raised within it is raised: torch.utils.checkpoint ends a
// computation so.
template <typename Compute>
PyObject* result_of(const Compute& compute) {
  try {
    Tensor result;
    {
      WithoutGil released;
      result = compute();
    }
    return THPVariable_Wrap(std::move(result));
  } catch (python_error& error) {
    error.restore();
    return nullptr;
  } catch (pybind11::error_already_set& error) {
    // From a rule in Python, autocast's.
    error.restore();
    return nullptr;
  }
}

// By its recipe, where a call on a GPU has one; else by the op.
PyObject* result_on_plain_weights(const Call& call) {
  if (const auto sized_call = sized(call, driver())) {
    c10::OptionalDeviceGuard on_device;
    if (call.x.is_cuda()) on_device.reset_device(call.x.device());
    if (const auto found = recipe_of(*sized_call)) {
      ++n_by_recipe();
      return result_of([&] { return sized_call->compute(*found->recipe, driver(), found->stream); });
    }
  }
  return result_of([&] { return call.on_plain_weights(); });
}

using Function = PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t);

template <Function function>
PyObject* guarded(PyObject* self, PyObject* const* args, Py_ssize_t n) {
  try {
    return function(self, args, n);
  } catch (...) {
    return other_way();
  }
}

std::optional<Operation> operation_of(PyObject* name) {
  std::string text;
  if (!read(name, text)) return std::nullopt;
  if (text == "linear") return Operation::linear;
  if (text == "mlp") return Operation::mlp;
  if (text == "gated_mlp") return Operation::gated_mlp;
  return std::nullopt;
}

constexpr const char* capsule_name = "fused_mlp.pack";
using SharedPack = std::shared_ptr<const Pack>;

void release(PyObject* capsule) { delete static_cast<SharedPack*>(PyCapsule_GetPointer(capsule, capsule_name)); }

// (weights, packed copies, whether oneDNN packed them) → a handle of them.
PyObject* pack(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (n != 3 || !PyTuple_Check(args[0]) || !PyTuple_Check(args[1]) || PyTuple_GET_SIZE(args[0]) > 3 ||
      PyTuple_GET_SIZE(args[0]) != PyTuple_GET_SIZE(args[1])) {
    return other_way();
  }
  auto made = std::make_shared<Pack>();
  made->is_onednn = args[2] == Py_True;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args[0]); ++i) {
    Tensor weight;
    if (!read(PyTuple_GET_ITEM(args[0], i), weight) || !read(PyTuple_GET_ITEM(args[1], i), made->packed[i]) ||
        weight.dim() != 2 || weight.is_inference()) {
      return other_way();
    }
    // Not the weight itself, which torch.utils.swap_tensors lets nobody else hold.
    made->sources.push_back(
        {weight.detach(), weight.const_data_ptr(), {weight.stride(0), weight.stride(1)}, weight._version(), samples_of(weight)});
  }
  return PyCapsule_New(new SharedPack(std::move(made)), capsule_name, release);
}

// x, each weight and bias in the operation's order, activation, recompute.
bool read_arguments(PyObject* const* args, Py_ssize_t n, Call& call) {
  const bool is_mlp = call.operation == Operation::mlp, is_gated = call.operation == Operation::gated_mlp;
  if (n != (is_mlp ? 7 : is_gated ? 6 : 5)) return false;
  bool is_read = read(args[0], call.x) && read(args[1], call.w[0]) && read(args[n - 2], call.activation) &&
      read(args[n - 1], call.recompute);
  if (is_gated) return is_read && read(args[2], call.w[1]) && read(args[3], call.w[2]);
  is_read = is_read && read(args[2], call.b[0]);
  return is_mlp ? is_read && read(args[3], call.w[1]) && read(args[4], call.b[1]) : is_read;
}

// (the arguments) → the result.
template <Operation operation>
PyObject* call_function(PyObject*, PyObject* const* args, Py_ssize_t n) {
  Call call{operation};
  if (!is_plain_context() || !read_arguments(args, n, call)) return other_way();
  return result_on_plain_weights(call);
}

// (operation, its arguments as a tuple, level, function, grid, threads, shared bytes, scratch, parameters, hooks) →
// whether calls like this one will be made by this recipe. hooks: lists that are empty while nobody listens to launches.
PyObject* remember(PyObject*, PyObject* const* args, Py_ssize_t n) {
  std::string level;
  if (n != 10 || !PyTuple_Check(args[1]) || !read(args[2], level)) return other_way();
  const auto operation = operation_of(args[0]);
  if (!operation) return other_way();
  Call call{*operation};
  if (!read_arguments(&PyTuple_GET_ITEM(args[1], 0), PyTuple_GET_SIZE(args[1]), call)) return other_way();
  const auto sized_call = sized(call, driver());
  if (!sized_call) Py_RETURN_FALSE;
  return PyBool_FromLong(keep_recipe(*sized_call, level, args + 3));
}

PyObject* was_wanted(PyObject*, PyObject* const*, Py_ssize_t) {
  return PyBool_FromLong(std::exchange(is_wanted(), false));
}

PyObject* count_by_recipe(PyObject*, PyObject* const*, Py_ssize_t) { return PyLong_FromLongLong(n_by_recipe()); }

PyObject* forget(PyObject*, PyObject* const*, Py_ssize_t) {
  recipes().clear();
  Py_RETURN_NONE;
}

// A driver that starts nothing, to time the host without a GPU: addresses as `drive` takes them.
PyObject* absent_gpu(PyObject*, PyObject* const*, Py_ssize_t) {
  Driver::Launch* const launch = [](void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
                                    void**, void**) { return 0; };
  int (*const is_capturing)(void*, int*) = [](void*, int* status) { return *status = 0; };
  int (*const context)(void**) = [](void** current) {
    *current = current;
    return 0;
  };
  return Py_BuildValue(
      "(LLL)", reinterpret_cast<long long>(launch), reinterpret_cast<long long>(is_capturing),
      reinterpret_cast<long long>(context));
}

PyObject* drive(PyObject*, PyObject* const* args, Py_ssize_t n) { return n == 5 ? use_driver(args) : other_way(); }

// The parameters of a module as fused_mlp.modules registers them: its own, or those of the layers it names. A parameter
// that is computed when asked for (torch.nn.utils.parametrize) is not found, and left to Python; so is a layer that does
// more than multiply, for Python to refuse.
bool read_parameters(PyObject* module, Call& call) {
  if (call.operation == Operation::linear) {
    PyObject* own = attribute(module, names().parameters);
    return read(entry(own, names().weight), call.w[0]) && read(entry(own, names().bias), call.b[0]);
  }
  PyObject *layers = attribute(module, names().modules), *layer_names = attribute(module, names().names);
  const Py_ssize_t n = call.operation == Operation::mlp ? 2 : 3;
  if (layer_names == nullptr || !PyTuple_Check(layer_names) || PyTuple_GET_SIZE(layer_names) != n) return false;
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* layer = entry(layers, PyTuple_GET_ITEM(layer_names, i));
    if (layer == nullptr || reinterpret_cast<PyObject*>(Py_TYPE(layer)) != plain_linear()) return false;
    const Attributes of_layer(layer);
    for (PyObject* hooks : names().hooks) {
      PyObject* registered = of_layer[hooks];
      if (registered == nullptr || !PyDict_Check(registered) || PyDict_GET_SIZE(registered) != 0) return false;
    }
    if (of_layer[names().forward] != nullptr) return false;
    PyObject* parameters = of_layer[names().parameters];
    if (!read(entry(parameters, names().weight), call.w[i])) return false;
    // Of the gated operation's layers only a bias that is None is known to be none.
    if (n == 2 ? !read(entry(parameters, names().bias), call.b[i]) : entry(parameters, names().bias) != Py_None) {
      return false;
    }
  }
  return true;
}

// (operation, module, x) → what the module's forward returns: by its packed weights where they are current and may be
// used, which is where no gradient is recorded and autocast asks for no other dtype.
PyObject* call_module(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (n != 3 || !is_plain_context()) return other_way();
  const auto operation = operation_of(args[0]);
  PyObject* module = args[1];
  if (!operation) return other_way();
  Call call{*operation};
  if (!read(args[2], call.x) || !read_parameters(module, call) ||
      !read(attribute(module, names().activation), call.activation) ||
      !read(attribute(module, names().recompute), call.recompute)) {
    return other_way();
  }
  if (at::GradMode::is_enabled() && call.has_inference_weight()) return other_way();
  PyObject* packed = attribute(module, names().packed);
  if (packed == nullptr || packed == Py_None || at::GradMode::is_enabled() ||
      at::autocast::is_autocast_enabled(at::kCPU) || call.has_tangent()) {
    return result_on_plain_weights(call);
  }
  PyObject* handle = attribute(packed, names().handle);
  if (handle == nullptr || !PyCapsule_IsValid(handle, capsule_name)) return other_way();
  const SharedPack pack = *static_cast<SharedPack*>(PyCapsule_GetPointer(handle, capsule_name));
  // Python drops what is out of date.
  if (!pack->is_of(call.w)) return other_way();
  return result_of([&] { return pack->compute(call); });
}

template <Function function>
PyMethodDef method(const char* name) {
  return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(guarded<function>)), METH_FASTCALL, nullptr};
}

PyMethodDef methods[] = {
    method<call_function<Operation::linear>>("linear"),
    method<call_function<Operation::mlp>>("mlp"),
    method<call_function<Operation::gated_mlp>>("gated_mlp"),
    method<call_module>("call_module"),
    method<pack>("pack"),
    method<drive>("drive"),
    method<absent_gpu>("absent_gpu"),
    method<remember>("remember"),
    method<forget>("forget"),
    method<was_wanted>("was_wanted"),
    method<count_by_recipe>("count_by_recipe"),
    {nullptr, nullptr, 0, nullptr},
};
PyModuleDef definition{PyModuleDef_HEAD_INIT, "fused_mlp_calls", nullptr, -1, methods};

}  // namespace
}  // namespace fused_mlp

PyMODINIT_FUNC PyInit_fused_mlp_calls() {
  // Here, and not at a first call, where the import could let another thread run into the same initialisation.
  if (fused_mlp::plain_linear() == nullptr) return nullptr;
  return PyModule_Create(&fused_mlp::definition);
}
