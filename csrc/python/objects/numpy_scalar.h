// NumPy's scalars (float32, int64, bool_...), if somebody imported NumPy: immutable numbers of C code.
#pragma once
#include "python/ref.h"

namespace minidynamo {

// True if an object is one of NumPy's own numbers or truth values; no instance of a Python class derived from them.
bool is_numpy_scalar(PyObject* object) noexcept;
bool is_numpy_scalar_type(PyTypeObject* type) noexcept;
// The Python number with the scalar's value. Null with a Python error set on failure; null without one for a truth
// value, which torch takes for something else.
Ref python_number(PyObject* scalar);
// The bytes that such a scalar is kept in; null without a Python error if it has no such bytes to read.
Ref numpy_bits(PyObject* scalar) noexcept;

}  // namespace minidynamo
