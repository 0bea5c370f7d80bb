// Handlers of rules of kind Handler: methods of torch.Tensor that are more than operators, which take the tensor first,
// and functions that take tensors for numbers.
#pragma once

#include "model/arguments.h"
#include "world/tracer.h"

namespace minidynamo::handlers {

#define SPECIAL(name) Ref name(Tracer& tracer, PyObject* callable, const Arguments& arguments)
SPECIAL(tensor_read);
SPECIAL(tensor_numpy);
SPECIAL(numpy_function);
SPECIAL(numpy_layer_coerce);
SPECIAL(tensor_new_tensor);
SPECIAL(tensor_set_requires_grad);
SPECIAL(tensor_detach_in_place);
SPECIAL(tensor_retain_grad);
SPECIAL(tensor_fill_diagonal);
SPECIAL(tensor_new);
SPECIAL(tensor_new_full);
SPECIAL(full);
SPECIAL(assert_async);
SPECIAL(is_all_true);
SPECIAL(compare_all);
SPECIAL(make_tensor);
#undef SPECIAL

}  // namespace minidynamo::handlers
