#include "world/native/special_methods.h"

#include <string_view>
#include <unordered_map>

#include "python/code/bound_method.h"
#include "python/unstable.h"
#include "python/version/type_version.h"

namespace minidynamo {
namespace {

bool is_dunder(PyObject* name) noexcept {
  const char* text = PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : nullptr;
  return text && std::string_view(text).starts_with("__") && std::string_view(text).ends_with("__");
}

// Called without the instance, and with state of its own.
bool is_bound(PyObject* value) noexcept {
  PyTypeObject* type = Py_TYPE(value);
  if (PyType_Check(value) || type->tp_descr_get || !type->tp_call) return PyMethod_Check(value);
  return !PyCFunction_Check(value) || is_bound_native_method(value);
}

bool look_through(PyTypeObject* type) noexcept {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(type->tp_mro); ++i) {
    auto* base = as_type(PyTuple_GET_ITEM(type->tp_mro, i));
    if (!is_python_class(base)) continue;
    Py_ssize_t position = 0;
    PyObject *name, *value;
    while (PyDict_Next(namespace_of(base), &position, &name, &value))
      if (is_bound(value) && is_dunder(name)) return true;
  }
  return false;
}

}  // namespace

bool has_bound_special_method(PyTypeObject* type) {
  struct Known {
    uint32_t version;
    bool has;
  };
  static auto* const known = new std::unordered_map<PyTypeObject*, Known>;  // under the GIL
  const uint32_t version = type_version(type);
  if (version) {
    const auto found = known->find(type);
    if (found != known->end() && found->second.version == version) return found->second.has;
  }
  const bool has = look_through(type);
  if (version) known->insert_or_assign(type, Known{version, has});
  return has;
}

}  // namespace minidynamo
