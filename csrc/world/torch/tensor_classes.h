// Classes of tensors that are not torch's own.
#pragma once
#include "python/ref.h"

namespace minidynamo {

bool is_tensor_class(PyTypeObject* type);
bool is_parameter_class(PyTypeObject* type);
// True if graphs take and return tensors of this class as they are: torch.Tensor, and parameters whose operators are a
// tensor's.
bool is_class_of_graphs(PyTypeObject* type);

}  // namespace minidynamo
