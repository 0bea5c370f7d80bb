// Attributes that programs have put on tensors.
#pragma once
#include "world/tracer.h"

namespace minidynamo {

// A tensor that wraps others (world/wrapper_tensors.h) and that the trace made.
bool is_new_wrapper(const Tracer& tracer, PyObject* tensor);
// What the program has put on a tensor; null Ref without a Python error: nothing of that name.
Ref load_own_tensor_attribute(Tracer& tracer, PyObject* tensor, PyObject* name);
// Whether there is anything on a tensor that the trace made.
bool has_own_attributes(PyObject* fake);

}  // namespace minidynamo
