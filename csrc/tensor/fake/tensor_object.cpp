#include "tensor/fake/tensor_object.h"

#include <torch/csrc/autograd/python_variable.h>

#include <cstddef>

namespace minidynamo {

static_assert(sizeof(TensorObject) == sizeof(THPVariable));
static_assert(offsetof(TensorObject, tensor) == offsetof(THPVariable, cdata));
static_assert(offsetof(TensorObject, backward_hooks) == offsetof(THPVariable, backward_hooks));
static_assert(offsetof(TensorObject, post_accumulate_grad_hooks) == offsetof(THPVariable, post_accumulate_grad_hooks));

}  // namespace minidynamo
