// Arithmetic with NumPy's scalars in a trace: they are constants, guarded by their bits. NumPy's warnings would be
// given while tracing, and not when the graph runs, so what would warn is a break.
#pragma once
#include <functional>

#include "model/arguments.h"
#include "world/tracer.h"

namespace minidynamo {

// Runs what computes with scalars only; gives the trace up if NumPy has something to say about it.
Ref compute_with_scalars(Tracer& tracer, const std::function<Ref()>& compute);
// Whether all are numbers of Python's or NumPy's; at least one of NumPy's if `any_numpy`.
bool are_scalars(const Arguments& arguments, bool any_numpy);
// A method of a scalar that only computes.
bool is_pure_scalar_method(PyObject* callable, const Arguments& arguments) noexcept;
// Whether the object is one of NumPy's functions over elements: numpy.sqrt, numpy.add...
bool is_numpy_function(PyObject* callable) noexcept;

}  // namespace minidynamo
