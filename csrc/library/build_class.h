// Class statements (the builtin function __build_class__), and C code that makes or changes classes.
#pragma once
#include "model/arguments.h"
#include "world/tracer.h"

namespace minidynamo::handlers {

Ref build_class(Tracer& tracer, PyObject* callable, const Arguments& arguments);
// The __new__ of any C class, which are one C function for all.
Ref native_new(Tracer& tracer, PyObject* callable, const Arguments& arguments);
// Methods of `type`, or of C code, that change a class: one of the trace's own may be changed.
Ref change_class(Tracer& tracer, PyObject* callable, const Arguments& arguments);
// The __init__ of a C class whose objects never change otherwise.
Ref initialize_own(Tracer& tracer, PyObject* callable, const Arguments& arguments);
// What makes a class of an autograd.Function, besides type.__new__: a class for its backward pass.
Ref autograd_function_class(Tracer& tracer, PyObject* callable, const Arguments& arguments);

}  // namespace minidynamo::handlers
