// Functions that make or change objects of C code that a trace may have of its own (world/native_objects.h).
#pragma once
#include "model/arguments.h"
#include "world/tracer.h"

namespace minidynamo::handlers {

Ref make_native_object(Tracer& tracer, PyObject* callable, const Arguments& arguments);
Ref lock_acquire(Tracer& tracer, PyObject* callable, const Arguments& arguments);

}  // namespace minidynamo::handlers
