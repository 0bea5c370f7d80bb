// Callables that native code is given to call (map's function, sorted's key): C callables among them would run behind
// the tracer's back, where no rule sees them. They are wrapped, so that each call comes back to it. Python functions
// need no wrapper: they come back through the frame hook.
#pragma once

#include "model/protocols/arguments.h"

namespace minidynamo {

// The arguments of a call of native code, with what it will call itself wrapped, if that needs it; then `room` keeps
// the values. Out of memory: a Python error is set.
Arguments wrap_python_callbacks(PyObject* callable, const Arguments& arguments, std::vector<Ref>& room);

// A callable that calls another one in the trace, from wherever C code calls it.
Ref callback_of(PyObject* callable);
bool is_native_callback(PyObject* object);
PyObject* behind_callback(PyObject* callback) noexcept;

}  // namespace minidynamo
