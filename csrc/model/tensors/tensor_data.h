// Tensors made of data: torch.tensor(), as_tensor() and the like.
#pragma once

#include "model/protocols/arguments.h"
#include "world/state/tracer.h"

namespace minidynamo {

// A tensor of numbers is made for real, not of fakes, and a fake stands for the result, whose values are known. A
// tensor of numbers and tensors is put together by operators.
Ref record_tensor_of_data(Tracer& tracer, PyObject* target, const Arguments& arguments);

}  // namespace minidynamo
