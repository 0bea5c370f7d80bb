#include "hook/run/compiled_function.h"

#include <structmember.h>

#include "hook/runtime.h"
#include "python/cached.h"
#include "python/process/out_of_memory.h"
#include "tensor/autograd/below_autograd.h"
#include "tensor/process/thread_modes.h"

namespace minidynamo {
namespace {

struct CompiledFunction {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* wrapped;
  CompiledFunctionState state;
};

CompiledFunction* as_compiled(PyObject* object) noexcept { return reinterpret_cast<CompiledFunction*>(object); }

PyObject* call_compiled(PyObject* self, PyObject* const* arguments, size_t flags, PyObject* keyword_names) {
  const CompiledFunction* compiled = as_compiled(self);
  std::optional<ModeScope> nothing;
  std::optional<BelowAutogradScope> below_autograd;
  if (compiled->state.captures_nothing) nothing.emplace(kCaptureNothing);
  if (compiled->state.below_autograd) below_autograd.emplace();
  if (compiled->state.begins_with_gradients) set_gradients(true);
  PyObject* results = PyObject_Vectorcall(compiled->wrapped, arguments, flags, keyword_names);
  if (results && compiled->state.ends_with_gradients) set_gradients(*compiled->state.ends_with_gradients);
  return results;
}

PyObject* compiled_getattr(PyObject* self, PyObject* name) {
  PyObject* own = PyObject_GenericGetAttr(self, name);
  if (own || !PyErr_ExceptionMatches(PyExc_AttributeError)) return own;
  clear_error();
  return PyObject_GetAttr(as_compiled(self)->wrapped, name);
}

int compiled_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(as_compiled(self)->wrapped);
  return 0;
}

int compiled_clear(PyObject* self) {
  Py_CLEAR(as_compiled(self)->wrapped);
  return 0;
}

void compiled_dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  compiled_clear(self);
  Py_TYPE(self)->tp_free(self);
}

PyMemberDef compiled_members[] = {
    {"__wrapped__", T_OBJECT, offsetof(CompiledFunction, wrapped), READONLY, "What is called."},
    {nullptr, 0, 0, 0, nullptr},
};

constexpr PyTypeObject make_compiled_type() {
  PyTypeObject type = {PyVarObject_HEAD_INIT(nullptr, 0)};
  type.tp_name = "minidynamo._C.CompiledFunction";
  type.tp_basicsize = sizeof(CompiledFunction);
  type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL;
  type.tp_dealloc = compiled_dealloc;
  type.tp_traverse = compiled_traverse;
  type.tp_clear = compiled_clear;
  type.tp_call = PyVectorcall_Call;
  type.tp_vectorcall_offset = offsetof(CompiledFunction, vectorcall);
  type.tp_getattro = entry<compiled_getattr>;
  type.tp_members = compiled_members;
  return type;
}

}  // namespace

Ref compiled_function(PyObject* callable, CompiledFunctionState state) {
  if (PyCFunction_Check(callable)) state.captures_nothing = false;  // it runs no Python code
  if (!state.captures_nothing && !state.below_autograd && !state.begins_with_gradients && !state.ends_with_gradients)
    return Ref::borrow(callable);
  static constinit PyTypeObject type = make_compiled_type();
  make_ready(type);
  Ref object = Ref::made(as_object(PyObject_GC_New(CompiledFunction, &type)));
  CompiledFunction* made = as_compiled(object.get());
  made->vectorcall = entry<call_compiled>;
  made->wrapped = Ref::borrow(callable).release();
  made->state = state;
  PyObject_GC_Track(made);
  return object;
}

}  // namespace minidynamo
