// Python floats whose values a trace does not know: what the counters of an optimizer's steps are read as, and random
// numbers (drawn_number.h).
//
// The value is a fake tensor without dimensions, of float64 on the CPU. What the program computes of it is computed of
// the tensor, with the same rounding as CPython's (model/number_call.h), so that no value becomes a constant of the
// trace. Where it leaves the trace, residual code reads it. Whatever would have to know it ends the trace.
#pragma once
#include "world/tracer.h"

namespace minidynamo {

bool is_traced_number(PyObject* object) noexcept;
// Whether any trace has one: false for nearly all programs.
bool any_traced_numbers() noexcept;
// Of a fake without dimensions, of float64 on the CPU, that nothing else writes to.
Ref make_traced_number(Tracer& tracer, Ref tensor);
PyObject* tensor_of_number(PyObject* number) noexcept;  // borrowed

// A type of objects that stand for values which the trace does not know, named as the type of these: C code that asks
// for one ends the trace.
PyTypeObject type_of_unknown(const char* name, Py_ssize_t size, destructor dealloc);

}  // namespace minidynamo
