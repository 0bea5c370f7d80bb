// What torch.optim does around the arithmetic of a step.
#pragma once
#include "model/arguments.h"
#include "world/tracer.h"

namespace minidynamo::handlers {

Ref torch_graph_break(Tracer& tracer, PyObject* callable, const Arguments& arguments);
Ref trace_wrapped(Tracer& tracer, PyObject* callable, const Arguments& arguments);      // Optimizer.zero_grad
Ref optimizer_number(Tracer& tracer, PyObject* callable, const Arguments& arguments);   // _get_value
Ref optimizer_numbers(Tracer& tracer, PyObject* callable, const Arguments& arguments);  // _stack_if_compiling

}  // namespace minidynamo::handlers
