// What the variables of a traced frame hold: globals, builtins, cells, and locals that no instruction has used yet.
#pragma once
#include "world/tracer.h"

namespace minidynamo {

Ref load_global(Tracer& tracer, Frame& frame, PyObject* name);
// The same among the builtins of the frame alone; null Ref without a Python error: there is none of that name.
Ref load_builtin(Tracer& tracer, Frame& frame, PyObject* name);
Ref load_cell(Tracer& tracer, PyObject* cell);  // null Ref without error: empty

inline PyObject* name_at(const Frame& frame, int32_t index) noexcept {
  return PyTuple_GET_ITEM(frame.prepared->bytecode.names.get(), index);
}

inline PyObject* local_name(const Frame& frame, int32_t index) noexcept {
  return PyTuple_GET_ITEM(frame.prepared->bytecode.localsplus_names.get(), index);
}

// A fast local that no instruction has used yet enters the trace; null Ref without a Python error if there is none.
Ref touch_local(Tracer& tracer, Frame& frame, int32_t index);
// Where it comes from.
Source* source_of_untouched(Tracer& tracer, Frame& frame, int32_t index);

}  // namespace minidynamo
