// Attributes of tensors that torch defines, set without anybody hearing of it.
#pragma once
#include "python/ref.h"

namespace minidynamo {

// (tensor, name, value): tensor.name = value by torch's own setter, past a property that the tensor's class has in its
// place, its __torch_function__ and modes, all of which the trace has asked. Borrowed, alive for the life of the
// process.
PyObject* store_torch_attribute_callable();

}  // namespace minidynamo
