#include "trace/native_callback.h"

#include <string_view>
#include <unordered_set>

#include "trace/known_types.h"

namespace minidynamo {
namespace {

struct CallbackObject {
  PyObject_HEAD PyObject* callable;
};

CallbackObject* as_callback(PyObject* object) noexcept { return reinterpret_cast<CallbackObject*>(object); }

PyObject* callback_call(PyObject* self, PyObject* args, PyObject* kwargs) noexcept {
  Tracer* tracer = Tracer::current();
  if (!tracer) {
    PyErr_SetString(PyExc_RuntimeError, "minidynamo: a callback of a trace was called after it");
    return nullptr;
  }
  return call_with(*tracer, as_callback(self)->callable, args, kwargs).release();
}

void callback_dealloc(PyObject* self) {
  Py_CLEAR(as_callback(self)->callable);
  PyObject_Free(self);
}

PyTypeObject* callback_type() {
  static PyTypeObject type = [] {
    PyTypeObject made = {PyVarObject_HEAD_INIT(nullptr, 0)};
    made.tp_name = "minidynamo.native_callback";
    made.tp_basicsize = sizeof(CallbackObject);
    made.tp_dealloc = callback_dealloc;
    made.tp_call = callback_call;
    made.tp_flags = Py_TPFLAGS_DEFAULT;
    return made;
  }();
  if (!(type.tp_flags & Py_TPFLAGS_READY)) PyType_Ready(&type);
  return &type;
}

// What comes back by itself, or runs no code of its own when it is called.
bool comes_back(PyObject* object) noexcept {
  if (PyMethod_Check(object)) return comes_back(PyMethod_GET_FUNCTION(object));
  // What functools.cmp_to_key makes only holds what it is called with, and compares by a function that comes back.
  return PyFunction_Check(object) || object == Py_None || is_native_callback(object) ||
         std::string_view(Py_TYPE(object)->tp_name) == "functools.KeyWrapper";
}

}  // namespace

bool is_native_callback(PyObject* object) noexcept { return Py_IS_TYPE(object, callback_type()); }

PyObject* behind_callback(PyObject* callback) noexcept { return as_callback(callback)->callable; }

bool calls_its_arguments(PyObject* callable) noexcept {
  static const std::unordered_set<PyObject*> known = [] {
    std::unordered_set<PyObject*> found;
    for (const char* path :
         {"builtins.map", "builtins.filter", "builtins.sorted", "builtins.min", "builtins.max", "functools.reduce",
          "itertools.starmap", "itertools.accumulate", "itertools.groupby", "itertools.takewhile",
          "itertools.dropwhile", "itertools.filterfalse", "_bisect.bisect_left", "_bisect.bisect_right",
          "_bisect.insort_left", "_bisect.insort_right"}) {
      Ref object = import_object(path);
      if (object) found.insert(object.release());
      PyErr_Clear();
    }
    return found;
  }();
  if (known.count(callable)) return true;
  if (Py_IS_TYPE(callable, &PyMethodDescr_Type))
    return PyDescr_TYPE(callable) == &PyList_Type && !PyUnicode_CompareWithASCIIString(PyDescr_NAME(callable), "sort");
  return PyCFunction_Check(callable) && PyCFunction_GET_SELF(callable) &&
         PyList_Check(PyCFunction_GET_SELF(callable)) &&
         std::string_view(reinterpret_cast<PyCFunctionObject*>(callable)->m_ml->ml_name) == "sort";
}

Arguments with_callbacks(const Arguments& arguments, std::vector<Ref>& room) {
  room.assign(arguments.values.begin(), arguments.values.end());
  for (Ref& value : room) {
    if (!Py_TYPE(value.get())->tp_call || comes_back(value.get())) continue;
    CallbackObject* callback = PyObject_New(CallbackObject, callback_type());
    callback->callable = value.release();
    value = Ref::steal(reinterpret_cast<PyObject*>(callback));
  }
  return Arguments{room, arguments.keyword_names, arguments.is_direct};
}

}  // namespace minidynamo
