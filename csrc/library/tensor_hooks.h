// Hooks on the gradients of tensors.
#pragma once
#include "model/arguments.h"
#include "world/tracer.h"

namespace minidynamo::special {

// Tensor.register_hook(hook), where nobody asks for the handle.
Ref tensor_register_hook(Tracer& tracer, PyObject* callable, const Arguments& arguments);

}  // namespace minidynamo::special
