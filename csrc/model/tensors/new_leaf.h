// Leaves of autograd: tensors that the program makes require a gradient, or none any more, and parameters that it
// makes.
//
// A graph that was made ahead of time returns results only, no leaves. So the graph holds a leaf of the trace's own as
// its data, and residual code makes a leaf of it where it leaves the trace (plan/new_leaves.h says what may leave
// beside it). The effect log repeats the change on a leaf from before the call.
#pragma once
#include "model/protocols/arguments.h"
#include "world/state/tracer.h"

namespace minidynamo {

bool is_leaf(PyObject* tensor);
// tensor.requires_grad_(wanted). False: an error is set, or the trace is given up.
bool require_gradient(Tracer& tracer, PyObject* tensor, bool wanted);
// torch.Tensor._make_subclass(type, data, requires_grad) of a class of parameters.
Ref make_parameter(Tracer& tracer, PyTypeObject* type, const Ref& data, bool requires_grad);

}  // namespace minidynamo
