// Attributes that programs have put on tensors.
#pragma once
#include "world/tracer.h"

namespace minidynamo {

// A tensor that wraps others (world/wrapper_tensors.h) and that the trace made.
bool is_new_wrapper(const Tracer& tracer, PyObject* tensor);
// What the program has put on a tensor; null Ref without a Python error: nothing of that name.
Ref load_own_tensor_attribute(Tracer& tracer, PyObject* tensor, PyObject* name);
// The same where the class has a method of this name, which such an attribute hides. Of a plain tensor on which there
// was nothing at the time of the trace, nothing is asked later: nobody hides torch's own methods, and every call would
// pay.
Ref load_hiding_attribute(Tracer& tracer, PyObject* tensor, PyObject* name);
// Whether its class has a __getattribute__ in Python.
bool has_own_getattribute(Tracer& tracer, PyObject* tensor);
// Whether there is anything on a tensor, but for what a wrapper holds.
bool has_own_attributes(PyObject* tensor);

}  // namespace minidynamo
