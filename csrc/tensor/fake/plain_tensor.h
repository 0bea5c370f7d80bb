// A tensor of a class with a __torch_function__, as a plain one: what a graph is given in its place.
#pragma once
#include "python/ref.h"

namespace minidynamo {

// A new view of the whole of a tensor, of class torch.Tensor, whatever torch's modes on this thread are: autograd sees
// where it comes from. Runs no Python code. Null without a Python error: it is no tensor, or of a layout without views.
Ref plain_tensor(PyObject* tensor) noexcept;

}  // namespace minidynamo
