// Handlers of rules of kind Special: methods of torch.Tensor that are more than operators. All take the tensor first.
#pragma once

#include "model/arguments.h"
#include "world/tracer.h"

namespace minidynamo::special {

#define SPECIAL(name) Ref name(Tracer& tracer, PyObject* callable, const Arguments& arguments)
SPECIAL(tensor_read);
SPECIAL(tensor_new_tensor);
#undef SPECIAL

}  // namespace minidynamo::special
