// Operators that run functions on tensors: torch.cond, while_loop, map, scan.
#pragma once
#include "model/arguments.h"
#include "world/tracer.h"

namespace minidynamo::handlers {

Ref cond_operator(Tracer& tracer, PyObject* callable, const Arguments& arguments);
Ref while_loop_operator(Tracer& tracer, PyObject* callable, const Arguments& arguments);
Ref map_operator(Tracer& tracer, PyObject* callable, const Arguments& arguments);
// A region that torch.compile would compile once and call again: it is part of the graph, each time that it is called.
Ref nested_region(Tracer& tracer, PyObject* callable, const Arguments& arguments);
Ref scan_operator(Tracer& tracer, PyObject* callable, const Arguments& arguments);

}  // namespace minidynamo::handlers
