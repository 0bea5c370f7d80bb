// torch.autograd.Function.
#pragma once
#include "model/arguments.h"
#include "world/tracer.h"

namespace minidynamo::handlers {

Ref apply_autograd_function(Tracer& tracer, PyObject* callable, const Arguments& arguments);  // _FunctionBase.apply
Ref return_argument(Tracer& tracer, PyObject* callable, const Arguments& arguments);  // of one that does nothing here

}  // namespace minidynamo::handlers
