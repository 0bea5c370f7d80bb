#include "model/native/reported_type.h"

#include "model/objects/generator.h"
#include "model/protocols/arguments.h"
#include "python/process/out_of_memory.h"
#include "python/unstable.h"
#include "python/version/type_version.h"
#include "tensor/symbolic/symbolic_size.h"
#include "world/external/context_token.h"
#include "world/external/external_iterator.h"
#include "world/proxies/fake_array.h"
#include "world/proxies/runtime_value.h"
#include "world/proxies/symbolic_float.h"

namespace minidynamo {
namespace {

// The attribute that the stand-in's own class defines; null if it does not.
PyObject* own_method(PyObject* object, PyObject* name) noexcept {
  PyObject* found = PyDict_GetItemWithError(namespace_of(Py_TYPE(object)), name);
  clear_error();
  return found;
}

std::nullptr_t abort(Tracer& tracer, PyObject* object, PyObject* name) {
  Ref text = Ref::made(PyUnicode_FromFormat("'%U' of a %s that a trace follows", name, Py_TYPE(object)->tp_name));
  return tracer.abort(BreakReason::OpaqueObject, PyUnicode_AsUTF8(text.get()));
}

}  // namespace

PyTypeObject* type_stood_for(PyObject* object, ProxyKind kind) noexcept {
  switch (kind) {
    case ProxyKind::Int:
      return &PyLong_Type;
    case ProxyKind::Bool:
      return &PyBool_Type;
    case ProxyKind::FloatOfSizes:
    case ProxyKind::Float:
    case ProxyKind::RuntimeNumber:
      return &PyFloat_Type;
    case ProxyKind::RuntimeText:
      return &PyUnicode_Type;
    case ProxyKind::Array:
      return Py_TYPE(twin_of_array(object));
    case ProxyKind::Tensor:
    case ProxyKind::None:
      break;
  }
  if (is_traced_generator(object)) return &PyGen_Type;
  if (is_context_token(object)) return &PyContextToken_Type;
  return is_outside_iterator(object) ? type_of_original(object) : nullptr;
}

PyTypeObject* reported_class(PyObject* type) noexcept {
  auto* own = as_type(type);
  if (own == traced_generator_type()) return &PyGen_Type;
  PyTypeObject* original = original_iterator_type(own);
  return original ? original : own;
}

bool can_show_attribute(Tracer& tracer, PyObject* object, PyObject* name) {
  PyTypeObject* shown = type_stood_for(object);
  if (!shown || own_method(object, name)) return true;
  if (class_attribute(shown, name) == class_attribute(Py_TYPE(object), name)) return true;  // class object's, or none
  return abort(tracer, object, name) != nullptr;
}

Ref is_shown_instance(Tracer& tracer, PyObject* object, PyObject* classes) {
  if (PyTuple_Check(classes)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(classes); ++i) {
      Ref is = is_shown_instance(tracer, object, PyTuple_GET_ITEM(classes, i));
      if (!is || is.is(Py_True)) return is;
    }
    return Ref::boolean(false);
  }
  if (!PyType_Check(classes)) return nullptr;
  if (class_attribute(Py_TYPE(classes), "__instancecheck__"_name) ==
      class_attribute(&PyType_Type, "__instancecheck__"_name))
    return Ref::boolean(PyType_IsSubtype(type_stood_for(object), as_type(classes)));
  return nullptr;
}

Ref method_for_shadow(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (!Py_IS_TYPE(callable, &PyMethodDescr_Type) && !Py_IS_TYPE(callable, &PyWrapperDescr_Type))
    return Ref::borrow(callable);
  PyObject* object = arguments.positional_count() ? arguments.values[0].get() : nullptr;
  PyTypeObject* shown = object ? type_stood_for(object) : nullptr;
  if (!shown || PyDescr_TYPE(callable) != shown || is_context_token(object)) return Ref::borrow(callable);
  if (PyObject* own = own_method(object, PyDescr_NAME(callable))) return Ref::borrow(own);
  return abort(tracer, object, PyDescr_NAME(callable));
}

}  // namespace minidynamo
