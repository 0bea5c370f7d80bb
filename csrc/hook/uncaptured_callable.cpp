#include "hook/uncaptured_callable.h"

#include <structmember.h>

#include "hook/runtime.h"
#include "python/cached.h"
#include "python/out_of_memory.h"

namespace minidynamo {
namespace {

struct UncapturedCallable {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* wrapped;
};

UncapturedCallable* as_uncaptured(PyObject* object) noexcept { return reinterpret_cast<UncapturedCallable*>(object); }

PyObject* call_uncaptured(PyObject* self, PyObject* const* arguments, size_t flags, PyObject* keyword_names) {
  ModeScope nothing(kCaptureNothing);
  return PyObject_Vectorcall(as_uncaptured(self)->wrapped, arguments, flags, keyword_names);
}

PyObject* uncaptured_getattr(PyObject* self, PyObject* name) {
  PyObject* own = PyObject_GenericGetAttr(self, name);
  if (own || !PyErr_ExceptionMatches(PyExc_AttributeError)) return own;
  clear_error();
  return PyObject_GetAttr(as_uncaptured(self)->wrapped, name);
}

int uncaptured_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(as_uncaptured(self)->wrapped);
  return 0;
}

int uncaptured_clear(PyObject* self) {
  Py_CLEAR(as_uncaptured(self)->wrapped);
  return 0;
}

void uncaptured_dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  uncaptured_clear(self);
  Py_TYPE(self)->tp_free(self);
}

PyMemberDef uncaptured_members[] = {
    {"__wrapped__", T_OBJECT, offsetof(UncapturedCallable, wrapped), READONLY, "What is called."},
    {nullptr, 0, 0, 0, nullptr},
};

constexpr PyTypeObject make_uncaptured_type() {
  PyTypeObject type = {PyVarObject_HEAD_INIT(nullptr, 0)};
  type.tp_name = "minidynamo._C.CompiledFunction";
  type.tp_basicsize = sizeof(UncapturedCallable);
  type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL;
  type.tp_dealloc = uncaptured_dealloc;
  type.tp_traverse = uncaptured_traverse;
  type.tp_clear = uncaptured_clear;
  type.tp_call = PyVectorcall_Call;
  type.tp_vectorcall_offset = offsetof(UncapturedCallable, vectorcall);
  type.tp_getattro = entry<uncaptured_getattr>;
  type.tp_members = uncaptured_members;
  return type;
}

}  // namespace

Ref uncaptured_callable(PyObject* callable) {
  if (PyCFunction_Check(callable)) return Ref::borrow(callable);
  static constinit PyTypeObject type = make_uncaptured_type();
  make_ready(type);
  Ref object = Ref::made(reinterpret_cast<PyObject*>(PyObject_GC_New(UncapturedCallable, &type)));
  UncapturedCallable* made = as_uncaptured(object.get());
  made->vectorcall = entry<call_uncaptured>;
  made->wrapped = Ref::borrow(callable).release();
  PyObject_GC_Track(made);
  return object;
}

}  // namespace minidynamo
