#include "emit/constant_text.h"

#include <cmath>
#include <cstring>

#include "python/process/out_of_memory.h"
#include "python/unstable.h"
#include "python/version/type_version.h"

namespace minidynamo {
namespace {

constexpr int kMaxDepth = 24;  // depth of nested tuples

std::optional<std::string> text_at_depth(PyObject* object, int depth);

std::optional<std::string> repr_text(PyObject* object) {
  const Ref repr = Ref::steal(PyObject_Repr(object));
  if (!repr) {  // an int with more digits than CPython converts
    clear_error();
    return std::nullopt;
  }
  return utf8_text(repr.get());
}

std::optional<std::string> tuple_text(PyObject* tuple, int depth) {
  if (depth >= kMaxDepth) return std::nullopt;
  std::string text = "(";
  const Py_ssize_t size = PyTuple_GET_SIZE(tuple);
  for (Py_ssize_t i = 0; i < size; ++i) {
    const std::optional<std::string> item = text_at_depth(PyTuple_GET_ITEM(tuple, i), depth + 1);
    if (!item) return std::nullopt;
    text += (i > 0 ? ", " : "") + *item;
  }
  return text + (size == 1 ? ",)" : ")");
}

// "<locals>" in a qualified name says that no expression leads there.
std::optional<std::string> dotted(PyObject* module, PyObject* qualname) {
  if (!qualname || !PyUnicode_Check(qualname)) return std::nullopt;
  const std::string name = utf8_text(qualname);
  if (name.find('<') != std::string::npos) return std::nullopt;
  if (!module || !PyUnicode_Check(module)) return name;
  const std::string module_name = utf8_text(module);
  return module_name == "builtins" ? name : module_name + "." + name;
}

std::optional<std::string> type_text(PyTypeObject* type) {
  if (is_static_class(type)) {  // "module.name", or a plain name for builtins
    const char* name = type->tp_name;
    constexpr const char* kBuiltins = "builtins.";
    return std::strncmp(name, kBuiltins, std::strlen(kBuiltins)) == 0 ? name + std::strlen(kBuiltins) : name;
  }
  const Ref key = Ref::made(PyUnicode_InternFromString("__module__"));
  PyObject* module = PyDict_GetItemWithError(namespace_of(type), key.get());
  clear_error();
  return dotted(module, reinterpret_cast<PyHeapTypeObject*>(type)->ht_qualname);
}

std::optional<std::string> builtin_text(PyObject* builtin) {
  PyObject* self = PyCFunction_GET_SELF(builtin);
  const char* name = as_builtin(builtin)->m_ml->ml_name;
  std::optional<std::string> owner;
  if (!self || PyModule_Check(self)) {
    const Ref text = Ref::made(PyUnicode_FromString(name));
    return dotted(as_builtin(builtin)->m_module, text.get());
  }
  if (PyType_Check(self)) owner = type_text(as_type(self));
  if (!owner) return std::nullopt;
  return *owner + "." + name;
}

bool is_descriptor(PyObject* object) noexcept {
  return Py_IS_TYPE(object, &PyMethodDescr_Type) || Py_IS_TYPE(object, &PyWrapperDescr_Type) ||
         Py_IS_TYPE(object, &PyClassMethodDescr_Type) || Py_IS_TYPE(object, &PyGetSetDescr_Type) ||
         Py_IS_TYPE(object, &PyMemberDescr_Type);
}

std::optional<std::string> text_at_depth(PyObject* object, int depth) {
  if (PyFloat_CheckExact(object) && !std::isfinite(PyFloat_AS_DOUBLE(object))) {
    return "float('" + *repr_text(object) + "')";
  }
  if (object == Py_Ellipsis) return "...";
  if (object == Py_None || object == Py_NotImplemented || PyBool_Check(object) || PyLong_CheckExact(object) ||
      PyFloat_CheckExact(object) || PyUnicode_CheckExact(object) || PyBytes_CheckExact(object)) {
    return repr_text(object);
  }
  if (PyTuple_CheckExact(object)) return tuple_text(object, depth);
  if (PyType_Check(object)) return type_text(as_type(object));
  if (PyFunction_Check(object)) {
    auto* function = as_function(object);
    return dotted(function->func_module, function->func_qualname);
  }
  if (PyCFunction_Check(object)) return builtin_text(object);
  if (is_descriptor(object)) {
    const std::optional<std::string> owner = type_text(PyDescr_TYPE(object));
    return owner ? std::optional(*owner + "." + utf8_text(PyDescr_NAME(object))) : std::nullopt;
  }
  if (PyModule_Check(object)) {
    const char* name = PyModule_GetName(object);
    if (!name) clear_error();
    return name ? std::optional<std::string>(name) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

std::string utf8_text(PyObject* str) {
  Py_ssize_t size = 0;
  const char* text = str && PyUnicode_Check(str) ? PyUnicode_AsUTF8AndSize(str, &size) : nullptr;
  if (!text) {
    clear_error();
    return "?";
  }
  return {text, static_cast<size_t>(size)};
}

std::optional<std::string> constant_text(PyObject* object) { return text_at_depth(object, 0); }

std::string opaque_text(PyObject* object) {
  const std::optional<std::string> type = type_text(Py_TYPE(object));
  return "<" + type.value_or(Py_TYPE(object)->tp_name) + " object>";
}

}  // namespace minidynamo
