// What copy and pickle ask an object for: object.__reduce_ex__, object.__getstate__ and the __reduce__ of builtin
// containers, step by step, so that attributes and slots are those that the trace knows.
#pragma once

#include "model/arguments.h"
#include "world/tracer.h"

namespace minidynamo::handlers {

Ref object_reduce_ex(Tracer& tracer, PyObject* callable, const Arguments& arguments);
Ref object_getstate(Tracer& tracer, PyObject* callable, const Arguments& arguments);
Ref container_reduce(Tracer& tracer, PyObject* callable, const Arguments& arguments);

// torch.Tensor.__deepcopy__(memo)
Ref tensor_deepcopy(Tracer& tracer, PyObject* callable, const Arguments& arguments);

}  // namespace minidynamo::handlers
