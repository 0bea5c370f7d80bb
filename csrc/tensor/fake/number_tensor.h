// Python's numbers as tensors, where a graph takes one as an input.
#pragma once
#include "python/ref.h"

namespace minidynamo {

// A new tensor of float64 without dimensions, on the CPU. Runs no Python code, and no operator. Null without a Python
// error for what is no float.
Ref tensor_of_float(PyObject* number) noexcept;
// The same of int64, for an int that fits.
Ref tensor_of_int(PyObject* number) noexcept;

}  // namespace minidynamo
