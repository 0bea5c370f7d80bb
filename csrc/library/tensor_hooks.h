// Hooks on the gradients of tensors.
#pragma once
#include "model/arguments.h"
#include "world/tracer.h"

namespace minidynamo {

// Below autograd: puts the hooks on the fake of a leaf that its tensor from before the call has, and those that the
// trace has put there since, which autograd's engine will call. False: the trace is given up.
bool give_hooks(Tracer& tracer, PyObject* leaf);

}  // namespace minidynamo

namespace minidynamo::handlers {

// Tensor.register_hook(hook), where nobody asks for the handle or all is recorded below autograd.
Ref tensor_register_hook(Tracer& tracer, PyObject* callable, const Arguments& arguments);
Ref tensor_register_later_hook(Tracer& tracer, PyObject* callable, const Arguments& arguments);  // ..post_accumulate..
// Of a node of autograd's graph (tensor.grad_fn).
Ref node_name(Tracer& tracer, PyObject* callable, const Arguments& arguments);
Ref node_register_hook(Tracer& tracer, PyObject* callable, const Arguments& arguments);
Ref node_register_prehook(Tracer& tracer, PyObject* callable, const Arguments& arguments);

}  // namespace minidynamo::handlers
