// Hooks on the gradients of tensors.
#pragma once
#include "model/protocols/arguments.h"
#include "world/state/tracer.h"

namespace minidynamo {

// Below autograd: puts the hooks on the fake of a leaf that its tensor from before the call has, and those that the
// trace has put there since, which autograd's engine will call. False: the trace is given up.
bool give_hooks(Tracer& tracer, PyObject* leaf);

}  // namespace minidynamo
