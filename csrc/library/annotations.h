// Annotations that are evaluated when they are asked for, from CPython 3.14 on (PEP 649).
#pragma once
#include "model/arguments.h"
#include "world/tracer.h"

namespace minidynamo::handlers {

// annotationlib.call_annotate_function
Ref call_annotate(Tracer& tracer, PyObject* callable, const Arguments& arguments);

}  // namespace minidynamo::handlers
