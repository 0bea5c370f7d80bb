// Calls of Python functions, which are traced into.
#pragma once
#include "model/protocols/arguments.h"
#include "python/version/fast_locals.h"
#include "world/state/tracer.h"

namespace minidynamo {

// Traces a Python function's body in a new frame.
Ref call_function(Tracer& tracer, PyObject* function, const Arguments& arguments);

// A frame that C code called: `slots` are its fast locals, bound by CPython (borrowed).
Ref run_called_from_c(Tracer& tracer, PyObject* function, FastLocals slots);

}  // namespace minidynamo
