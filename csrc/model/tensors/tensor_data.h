// Tensors made of data: torch.tensor(), as_tensor() and the like.
#pragma once

#include "model/protocols/arguments.h"
#include "world/state/tracer.h"

namespace minidynamo {

// Of numbers, it is executed for real, not on fakes, and a fake stands for the result, whose values are known. Of
// numbers and tensors, operators put them together.
Ref record_tensor_of_data(Tracer& tracer, PyObject* target, const Arguments& arguments);

}  // namespace minidynamo
