// A class is made by CPython's own type.__new__. What that calls of Python code comes back through the frame hook; what
// it asks external objects for is looked up here before, so that it is guarded. Bases and metaclasses with C code of
// their own are a break.

#include "trace/class_body.h"
#include "library/python/builtins.h"
#include "model/protocols/abstract.h"
#include "python/error_text.h"
#include "python/process/out_of_memory.h"
#include "trace/variables.h"
#include "world/external/enter.h"
#include "world/external/scope.h"

namespace minidynamo {
namespace {

bool is_own_dict(Tracer& tracer, PyObject* mapping) noexcept {
  return PyDict_CheckExact(mapping) && !tracer.world.source_of(mapping);
}

// The value of a name in a namespace; null Ref without a Python error: nothing.
Ref find_name(Tracer& tracer, PyObject* mapping, PyObject* name) {
  if (is_own_dict(tracer, mapping)) return Ref::borrow(PyDict_GetItemWithError(mapping, name));
  Ref found = subscript(tracer, mapping, name);
  if (!found && !tracer.is_over() && PyErr_ExceptionMatches(PyExc_KeyError)) clear_error();
  return found;
}

}  // namespace

Ref load_build_class(Tracer& tracer, Frame& frame) {
  Ref found = load_builtin(tracer, frame, "__build_class__"_name);
  if (!found && !PyErr_Occurred()) PyErr_SetString(PyExc_NameError, "__build_class__ not found");
  return found;
}

Ref load_name(Tracer& tracer, Frame& frame, PyObject* name) {
  return load_global_behind(tracer, frame, frame.locals_mapping.get(), name);
}

Ref load_global_behind(Tracer& tracer, Frame& frame, PyObject* mapping, PyObject* name) {
  if (mapping == frame.globals.get()) return load_global(tracer, frame, name);
  Ref found = find_name(tracer, mapping, name);
  return found || PyErr_Occurred() ? found : load_global(tracer, frame, name);
}

bool store_name(Tracer& tracer, Frame& frame, PyObject* name, PyObject* value) {
  PyObject* mapping = frame.locals_mapping.get();
  if (mapping == frame.globals.get()) return store_global(tracer, frame, name, value);
  if (!is_own_dict(tracer, mapping)) return store_subscript(tracer, mapping, name, value);
  return materialize_if_shadow(tracer, value) && PyDict_SetItem(mapping, name, value) == 0;
}

bool delete_name(Tracer& tracer, Frame& frame, PyObject* name) {
  PyObject* mapping = frame.locals_mapping.get();
  if (mapping == frame.globals.get())
    return load_global(tracer, frame, name) && store_global(tracer, frame, name, nullptr);
  if (store_subscript(tracer, mapping, name, nullptr)) return true;
  if (tracer.is_over()) return false;
  PyErr_Format(PyExc_NameError, "name '%U' is not defined", name);
  add_name_context(name);
  return false;
}

Ref load_deref_behind(Tracer& tracer, Frame& frame, PyObject* mapping, int32_t index) {
  Ref found = find_name(tracer, mapping, local_name(frame, index));
  if (found || PyErr_Occurred()) return found;
  found = load_cell(tracer, cell_in(tracer, frame, index).get());
  if (!found && !PyErr_Occurred()) unbound_cell(frame, index);
  return found;
}

bool setup_annotations(Tracer& tracer, Frame& frame) {
  Ref present = find_name(tracer, frame.locals_mapping.get(), "__annotations__"_name);
  if (present || PyErr_Occurred()) return static_cast<bool>(present);
  Ref annotations = Ref::made(PyDict_New());
  return store_name(tracer, frame, "__annotations__"_name, annotations.get());
}

}  // namespace minidynamo
