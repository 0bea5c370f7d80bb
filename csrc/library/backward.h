// Backward passes in a trace: autograd's engine runs on fakes.
#pragma once

#include "model/arguments.h"
#include "world/tracer.h"

namespace minidynamo::handlers {

// Tensor.backward() is Python code, other than most methods of tensors.
Ref trace_backward(Tracer& tracer, PyObject* callable, const Arguments& arguments);
// What it comes to.
Ref run_backward(Tracer& tracer, PyObject* callable, const Arguments& arguments);

}  // namespace minidynamo::handlers
