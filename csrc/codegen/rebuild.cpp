#include "codegen/rebuild.h"

#include "python/type_version.h"

namespace minidynamo {
namespace {

PyTypeObject* ordered_dict_type() {
  static PyTypeObject* const type = [] {
    Ref module = Ref::steal(PyImport_ImportModule("collections"));
    return reinterpret_cast<PyTypeObject*>(module ? PyObject_GetAttrString(module.get(), "OrderedDict") : nullptr);
  }();
  return type;
}

// Calls visit(name) for every slot (member descriptor) that Python classes in the MRO define.
template <typename Visit>
bool each_slot(PyTypeObject* type, Visit visit) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(type->tp_mro); ++i) {
    auto* base = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(type->tp_mro, i));
    if (!PyType_HasFeature(base, Py_TPFLAGS_HEAPTYPE)) continue;
    Py_ssize_t position = 0;
    PyObject *name, *value;
    while (PyDict_Next(base->tp_dict, &position, &name, &value))
      if (Py_IS_TYPE(value, &PyMemberDescr_Type) && !visit(name)) return false;
  }
  return true;
}

PyObject* rebuild_instance(PyObject*, PyObject* const* arguments, Py_ssize_t count) noexcept {
  if (count != 3 || !PyType_Check(arguments[0])) {
    PyErr_SetString(PyExc_TypeError, "rebuild_instance(class, items, attributes)");
    return nullptr;
  }
  auto* type = reinterpret_cast<PyTypeObject*>(arguments[0]);
  PyObject* items = arguments[1];
  PyTypeObject* base = native_base(type);
  Ref nothing = Ref::steal(PyTuple_New(0));
  Ref instance = Ref::steal(base->tp_new(type, nothing.get(), nullptr));
  if (!instance) return nullptr;
  if (PyList_CheckExact(items)) {
    if (PyList_SetSlice(instance.get(), 0, 0, items) < 0) return nullptr;
  } else if (PySet_CheckExact(items)) {
    if (_PySet_Update(instance.get(), items) < 0) return nullptr;
  } else if (PyDict_CheckExact(items)) {
    Py_ssize_t position = 0;
    PyObject *key, *value;
    while (PyDict_Next(items, &position, &key, &value))
      if (base->tp_as_mapping->mp_ass_subscript(instance.get(), key, value) < 0) return nullptr;
  }
  Py_ssize_t position = 0;
  PyObject *name, *value;
  while (PyDict_Next(arguments[2], &position, &name, &value))
    if (PyObject_GenericSetAttr(instance.get(), name, value) < 0) return nullptr;
  return instance.release();
}

PyObject* rebuild_tuple(PyObject*, PyObject* const* arguments, Py_ssize_t count) noexcept {
  if (count != 2 || !PyType_Check(arguments[0])) {
    PyErr_SetString(PyExc_TypeError, "rebuild_tuple(class, items)");
    return nullptr;
  }
  Ref packed = Ref::steal(PyTuple_Pack(1, arguments[1]));
  return PyTuple_Type.tp_new(reinterpret_cast<PyTypeObject*>(arguments[0]), packed.get(), nullptr);
}

PyObject* rebuild_function(PyObject*, PyObject* const* arguments, Py_ssize_t count) noexcept {
  if (count != 9) {
    PyErr_SetString(PyExc_TypeError, "rebuild_function takes 9 arguments");
    return nullptr;
  }
  Ref made = Ref::steal(PyFunction_New(arguments[0], arguments[1]));
  if (!made) return nullptr;
  auto set = [&](const char* name, PyObject* value) { return PyObject_SetAttrString(made.get(), name, value) == 0; };
  auto* function = reinterpret_cast<PyFunctionObject*>(made.get());
  if (arguments[5] != Py_None) function->func_closure = Ref::borrow(arguments[5]).release();
  if (arguments[6] != Py_None) function->func_annotations = Ref::borrow(arguments[6]).release();
  const bool ok = set("__name__", arguments[2]) && (arguments[3] == Py_None || set("__defaults__", arguments[3])) &&
                  (arguments[4] == Py_None || set("__kwdefaults__", arguments[4])) &&
                  set("__qualname__", arguments[7]) && (arguments[8] == Py_None || set("__dict__", arguments[8]));
  return ok ? made.release() : nullptr;
}

PyObject* rebuild_partial(PyObject*, PyObject* const* arguments, Py_ssize_t count) noexcept {
  if (count != 3) {
    PyErr_SetString(PyExc_TypeError, "rebuild_partial(func, args, keywords)");
    return nullptr;
  }
  static PyObject* const partial = [] {
    Ref module = Ref::steal(PyImport_ImportModule("functools"));
    return module ? PyObject_GetAttrString(module.get(), "partial") : nullptr;
  }();
  Ref function = Ref::steal(PyTuple_Pack(1, arguments[0]));
  Ref positional = Ref::steal(PySequence_Concat(function.get(), arguments[1]));
  return positional ? PyObject_Call(partial, positional.get(), arguments[2]) : nullptr;
}

template <_PyCFunctionFast function>
PyObject* callable(const char* name) {
  static PyMethodDef definition = {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function)),
                                   METH_FASTCALL, nullptr};
  static PyObject* const object = PyCFunction_New(&definition, nullptr);
  return object;
}

}  // namespace

PyObject* rebuild_instance_callable() { return callable<rebuild_instance>("rebuild_instance"); }
PyObject* rebuild_tuple_callable() { return callable<rebuild_tuple>("rebuild_tuple"); }
PyObject* rebuild_function_callable() { return callable<rebuild_function>("rebuild_function"); }
PyObject* rebuild_partial_callable() { return callable<rebuild_partial>("rebuild_partial"); }

bool is_rebuildable(PyTypeObject* type) noexcept {
  if (!PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE)) return type == ordered_dict_type();
  PyTypeObject* base = native_base(type);
  return base == &PyBaseObject_Type || base == &PyList_Type || base == &PyDict_Type || base == &PySet_Type ||
         base == ordered_dict_type();
}

Ref instance_parts(PyObject* instance) {
  PyTypeObject* type = Py_TYPE(instance);
  PyTypeObject* base = native_base(type);
  Ref items = Ref::none();
  if (base == &PyList_Type) {
    items = Ref::steal(PyList_GetSlice(instance, 0, PyList_GET_SIZE(instance)));
  } else if (base == &PySet_Type) {
    items = Ref::steal(PySet_New(instance));
  } else if (base != &PyBaseObject_Type) {
    Ref pairs = Ref::steal(PyObject_CallMethod(reinterpret_cast<PyObject*>(base), "items", "O", instance));
    items = Ref::steal(PyDict_New());
    if (!pairs || PyDict_MergeFromSeq2(items.get(), pairs.get(), 1) < 0) return nullptr;
  }
  Ref attributes = Ref::steal(PyDict_New());
  if (type->tp_dictoffset) {
    Ref own = Ref::steal(PyObject_GenericGetDict(instance, nullptr));
    if (!own || PyDict_Update(attributes.get(), own.get()) < 0) return nullptr;
  }
  const bool ok = each_slot(type, [&](PyObject* name) {
    Ref value = Ref::steal(PyObject_GenericGetAttr(instance, name));
    if (!value) {
      PyErr_Clear();  // an empty slot
      return true;
    }
    return PyDict_SetItem(attributes.get(), name, value.get()) == 0;
  });
  if (!ok || !items) return nullptr;
  return Ref::steal(PyTuple_Pack(2, items.get(), attributes.get()));
}

}  // namespace minidynamo
