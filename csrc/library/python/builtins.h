// Calls of objects that only the tracer sees whole: what operator.methodcaller and attrgetter make, generic aliases.
#pragma once
#include "model/protocols/arguments.h"
#include "world/state/tracer.h"

namespace minidynamo::handlers {

Ref method_caller_call(Tracer& tracer, PyObject* callable, const Arguments& arguments);
Ref attribute_getter_call(Tracer& tracer, PyObject* callable, const Arguments& arguments);
Ref generic_alias_call(Tracer& tracer, PyObject* callable, const Arguments& arguments);

}  // namespace minidynamo::handlers
