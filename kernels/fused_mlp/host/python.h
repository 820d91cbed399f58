// Python's objects as what the ops take: plain tensors and text, read without running Python.
#pragma once

#include <torch/csrc/autograd/python_variable.h>

#include <array>
#include <optional>
#include <string>

namespace fused_mlp {

using at::Tensor;
using MaybeTensor = std::optional<Tensor>;

// Read once: interned, so that a dictionary finds them by address.
struct Names {
  PyObject* activation = PyUnicode_InternFromString("activation");
  PyObject* recompute = PyUnicode_InternFromString("recompute");
  PyObject* names = PyUnicode_InternFromString("names");
  PyObject* modules = PyUnicode_InternFromString("_modules");
  PyObject* parameters = PyUnicode_InternFromString("_parameters");
  PyObject* weight = PyUnicode_InternFromString("weight");
  PyObject* bias = PyUnicode_InternFromString("bias");
  PyObject* packed = PyUnicode_InternFromString("_packed");
  PyObject* handle = PyUnicode_InternFromString("handle");
  PyObject* forward = PyUnicode_InternFromString("forward");
  // What a call of a module runs beside its forward.
  std::array<PyObject*, 4> hooks = {
      PyUnicode_InternFromString("_forward_hooks"), PyUnicode_InternFromString("_forward_pre_hooks"),
      PyUnicode_InternFromString("_backward_hooks"), PyUnicode_InternFromString("_backward_pre_hooks")};
};
inline const Names& names() {
  static const Names once;
  return once;
}

// An entry of a dictionary, borrowed; null where there is none.
inline PyObject* entry(PyObject* dictionary, PyObject* key) {
  return dictionary != nullptr && PyDict_Check(dictionary) ? PyDict_GetItemWithError(dictionary, key) : nullptr;
}

// An attribute of the instance itself, borrowed; null where there is none.
inline PyObject* attribute(PyObject* object, PyObject* key) {
  PyObject* dictionary = object == nullptr ? nullptr : PyObject_GenericGetDict(object, nullptr);
  PyObject* found = entry(dictionary, key);
  Py_XDECREF(dictionary);
  return found;
}

// The attributes of an instance itself, borrowed, as long as this lives.
class Attributes {
 public:
  explicit Attributes(PyObject* object) : dictionary_(PyObject_GenericGetDict(object, nullptr)) {}
  ~Attributes() { Py_XDECREF(dictionary_); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  PyObject* operator[](PyObject* key) const { return entry(dictionary_, key); }

 private:
  PyObject* dictionary_;
};

// torch.nn.Linear, or null.
inline PyObject* plain_linear() {
  static PyObject* const once = [] {
    PyObject* module = PyImport_ImportModule("torch.nn");
    PyObject* found = module == nullptr ? nullptr : PyObject_GetAttrString(module, "Linear");
    Py_XDECREF(module);
    return found;
  }();
  return once;
}

inline bool is_tensor(PyObject* object) { return object != nullptr && THPVariable_CheckExact(object); }

// Tensors and text are copied out of Python's objects: another thread may let go of those while this one computes.
inline bool read(PyObject* object, Tensor& into) {
  if (!is_tensor(object)) return false;
  into = THPVariable_Unpack(object);
  return true;
}

inline bool read(PyObject* object, MaybeTensor& into) {
  if (object == Py_None) return true;
  if (!is_tensor(object)) return false;
  into = THPVariable_Unpack(object);
  return true;
}

inline bool read(PyObject* object, std::string& into) {
  if (object == nullptr || !PyUnicode_Check(object)) return false;
  Py_ssize_t size;
  const char* text = PyUnicode_AsUTF8AndSize(object, &size);
  if (text == nullptr) return false;
  into.assign(text, size);
  return true;
}

inline PyObject* other_way() {
  PyErr_Clear();
  Py_RETURN_NOTIMPLEMENTED;
}

}  // namespace fused_mlp
