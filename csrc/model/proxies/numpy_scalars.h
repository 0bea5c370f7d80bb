// Arithmetic with NumPy's scalars and small arrays in a trace. Scalars are constants, guarded by their bits; arrays are
// the trace's own, made of constants (world/native/native_objects.h). NumPy's warnings would be given while tracing,
// and not when the graph runs, so what would warn is a break.
#pragma once
#include <functional>

#include "model/protocols/arguments.h"
#include "world/state/tracer.h"

namespace minidynamo {

// Runs code that computes with scalars only; ends the trace if NumPy warns or raises.
Ref compute_with_scalars(Tracer& tracer, const std::function<Ref()>& compute);
// True if all are numbers of Python's or NumPy's, or arrays; at least one of NumPy's if `any_numpy`.
bool are_scalars(const Arguments& arguments, bool any_numpy);
// True if the call is one of a function of NumPy's, or of a method of its scalars and arrays, that only computes, with
// constants, scalars and arrays and what is made of them.
bool computes_with_numpy(PyObject* callable, const Arguments& arguments);
// The data that torch makes a tensor of in place of such an array: (nested list, dtype of torch). Null without a Python
// error if there is no such dtype, or it is too large. If the tensor shares its memory, the array is not used any more,
// and must be the only one.
Ref data_of_array(Tracer& tracer, PyObject* array, bool is_shared);

}  // namespace minidynamo
