// Calls in a region of transforms, or of what transforms made: executed as they are, recorded below all levels.
#pragma once

#include "model/protocols/arguments.h"
#include "world/state/tracer.h"

namespace minidynamo {

// True if a call must not become a node itself: a transform is active, or an argument is a wrapper that one left.
bool is_below_transforms(const Tracer& tracer, const Arguments& arguments);
bool is_below_transforms(const Tracer& tracer, PyObject* tensor);

// Executes target(*arguments), for CallMethod arguments[0].target(...), natively; its operators are recorded one by
// one. What raises ends the trace.
Ref call_recording_operators(Tracer& tracer, NodeKind kind, PyObject* target, const Arguments& arguments);
// The same for C code that calls the program's Python code, such as autograd's engine: that is traced.
Ref call_that_calls_back(Tracer& tracer, PyObject* callable, const Arguments& arguments);
// To be returned by what autograd calls in the middle of an operator, which ends there with _checkpoint.Stop.
std::nullptr_t stop_operator();
// A tensor's attribute in the same way.
Ref load_recording_operators(Tracer& tracer, PyObject* tensor, PyObject* name);
// A constant of the trace as an operator returns it within the transforms that are active: wrapped by their levels.
Ref lift(Tracer& tracer, Ref constant);

}  // namespace minidynamo
