// The elements of NumPy's arrays as tensors, by way of CPython's buffer protocol.
#pragma once
#include "python/ref.h"

namespace minidynamo {

// A new tensor over the memory of a numpy.ndarray, as torch.from_numpy makes one; but arrays that are views of one
// array, or of a tensor, give tensors that share a storage. Runs no Python code. Null without a Python error for what
// no tensor can show: read-only memory, byte order or numbers that torch does not know, negative strides, memory that
// belongs to neither an array nor a tensor.
Ref tensor_over_array(PyObject* array) noexcept;

}  // namespace minidynamo
