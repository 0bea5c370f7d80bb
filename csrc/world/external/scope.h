// The values of a traced frame's variables: globals, builtins, cells, and locals that no instruction has used yet.
#pragma once
#include "world/state/tracer.h"

namespace minidynamo {

Ref load_global(Tracer& tracer, Frame& frame, PyObject* name);
// The same among the builtins of the frame alone; null Ref without a Python error: there is none of that name.
Ref load_builtin(Tracer& tracer, Frame& frame, PyObject* name);
// Guards that the function of the frame, and any other of the same code, finds its builtins in the dict of now.
// Functions of libraries do.
void guard_builtins(Tracer& tracer, Frame& frame);
bool store_global(Tracer& tracer, Frame& frame, PyObject* name, PyObject* value);  // value null: delete
// The dict of a module's names, as the program has it in its hands: opaque but for single names.
bool is_namespace(const Tracer& tracer, PyObject* object) noexcept;
// The namespace's value under a name; null Ref without a Python error: nothing.
Ref load_from_namespace(Tracer& tracer, PyObject* names, PyObject* name);
Ref load_cell(Tracer& tracer, PyObject* cell);  // null Ref without error: empty

inline PyObject* name_at(const Frame& frame, int32_t index) noexcept {
  return PyTuple_GET_ITEM(frame.prepared->bytecode.names.get(), index);
}

inline PyObject* local_name(const Frame& frame, int32_t index) noexcept {
  return PyTuple_GET_ITEM(frame.prepared->bytecode.localsplus_names.get(), index);
}

// A fast local that no instruction has used yet enters the trace; null Ref without a Python error if there is none.
Ref touch_local(Tracer& tracer, Frame& frame, int32_t index);
// The source of such a local.
Source* source_of_untouched(Tracer& tracer, Frame& frame, int32_t index);

}  // namespace minidynamo
