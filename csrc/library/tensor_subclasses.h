// What torch has for tensors of classes of the program's: how they are made, and what a __torch_function__ does that
// leaves the call to torch.
#pragma once
#include "model/arguments.h"
#include "world/tracer.h"

namespace minidynamo::handlers {

Ref tensor_as_subclass(Tracer& tracer, PyObject* callable, const Arguments& arguments);
Ref tensor_make_subclass(Tracer& tracer, PyObject* callable, const Arguments& arguments);  // Tensor._make_subclass
Ref tensor_make_wrapper(Tracer& tracer, PyObject* callable, const Arguments& arguments);
Ref tensor_new_of_class(Tracer& tracer, PyObject* callable, const Arguments& arguments);  // Tensor.__new__
Ref default_torch_function(Tracer& tracer, PyObject* callable, const Arguments& arguments);

}  // namespace minidynamo::handlers
