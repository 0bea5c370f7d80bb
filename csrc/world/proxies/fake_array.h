// Arrays of NumPy's whose values a trace does not know: the result of a fake's numpy(), and what is computed from it.
//
// The elements are a fake tensor. Beside it lies a *twin*: a real array or scalar of the same kind, whose values mean
// nothing. Whatever the program does to the array is done to the elements by torch._numpy, traced like any Python code,
// and to the twin by NumPy itself (model/proxies/numpy_operation.h): the twin's side says of what class, dtype and
// shape the result is, whether it is a scalar, and what it shares its memory with.
//
// To all that does not know of them, they are opaque.
#pragma once
#include "world/state/tracer.h"

namespace minidynamo {

bool is_fake_array(PyObject* object) noexcept;  // or a scalar
// True if any trace has one: false for nearly all programs.
bool any_fake_arrays() noexcept;
// A real array like a fake; null, with or without a Python error, if there is none, or it would be very large.
Ref twin_of_fake(PyObject* fake);
Ref make_fake_array(Tracer& tracer, PyObject* elements, Ref twin);
PyObject* elements_of_array(PyObject* array) noexcept;  // borrowed: a fake
PyObject* twin_of_array(PyObject* array) noexcept;      // borrowed
// True if it is a scalar (numpy.float32), which cannot be changed.
bool is_traced_scalar(PyObject* array) noexcept;

// For residual code: (tensor, whether it is to be a scalar) -> what NumPy makes of it.
PyObject* array_of_tensor_callable();

}  // namespace minidynamo
