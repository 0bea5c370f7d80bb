// Objects that a trace knows by themselves rather than by a way from the frame.
#pragma once
#include "world/state/tracer.h"

namespace minidynamo {

// The source of an in-trace object; an identity-guarded one without any is pinned on the spot (classes, functions,
// modules).
Source* source_or_pin(Tracer& tracer, PyObject* object);

// The dict of a module's names, of the builtins or of the imported modules, which is read and written name by name;
// as an object it is opaque from here on. Null, with the trace given up, where it is used as a dict already.
Source* namespace_source(Tracer& tracer, PyObject* names, const char* text = "G");

// Guards the result of a C function that only reads a state of the process; `name` is how the guard calls it.
void guard_state(Tracer& tracer, PyObject* asked, const std::string& name, PyObject* state);

}  // namespace minidynamo
