// Attributes that programs have put on tensors.
#pragma once
#include "world/state/tracer.h"

namespace minidynamo {

// A tensor that wraps others (world/proxies/wrapper_tensors.h) and that the trace made.
bool is_new_wrapper(const Tracer& tracer, PyObject* tensor);
// The attribute that the program has put on a tensor; null Ref without a Python error: nothing of that name.
Ref load_own_tensor_attribute(Tracer& tracer, PyObject* tensor, PyObject* name);
// The same where the class has a method of this name, which such an attribute hides. A plain tensor that had no
// attributes at the time of the trace gets no guard for it: every call would pay for a rare case.
Ref load_hiding_attribute(Tracer& tracer, PyObject* tensor, PyObject* name);
// True if the class of the tensor has a __getattribute__ in Python.
bool has_own_getattribute(Tracer& tracer, PyObject* tensor);
// True if the program has put an attribute on the tensor. A wrapper's own parts are not meant.
bool has_own_attributes(PyObject* tensor);

}  // namespace minidynamo
