// Tensors of classes of the program's: what makes one. In the graph they are plain tensors, whose fakes have the class;
// what leaves the trace gets it from residual code.
#pragma once
#include "model/protocols/arguments.h"
#include "world/state/tracer.h"

namespace minidynamo {

// tensor.as_subclass(type).
Ref as_class(Tracer& tracer, PyObject* tensor, PyTypeObject* type);
// The object that the __new__ of torch.Tensor makes of a class's arguments.
Ref new_of_class(Tracer& tracer, PyTypeObject* type, const Arguments& arguments);

}  // namespace minidynamo
