// Calls of classes.
#pragma once
#include "model/protocols/arguments.h"
#include "world/state/tracer.h"

namespace minidynamo {

Ref call_class(Tracer& tracer, PyTypeObject* type, const Arguments& arguments);
// type.__call__: makes and initializes an instance of a Python class.
Ref instantiate(Tracer& tracer, PyTypeObject* type, const Arguments& arguments);

}  // namespace minidynamo
