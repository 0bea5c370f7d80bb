// Operations on traced numbers (world/proxies/symbolic_float.h), in number_operations.cpp: they compute with the
// float64 tensors that stand for the numbers, so that each result has the bits that CPython's float would have. CPython
// raises where a number is divided by zero or a power does not fit; a tensor becomes infinite, or nan. So the trace
// takes the value of the program's own numbers there.
#pragma once
#include "model/protocols/arguments.h"
#include "world/state/tracer.h"

namespace minidynamo {

// The binary operator with this name in the operator module; at least one operand is a traced number, none is a tensor.
Ref number_binary(Tracer& tracer, const char* operator_name, PyObject* left, PyObject* right);
// The comparison with this number (Py_LT...); the same.
Ref number_compare(Tracer& tracer, int comparison, PyObject* left, PyObject* right);
Ref number_negative(Tracer& tracer, PyObject* number);
// A tensor with the number's value, such that torch computes with it beside `tensor` as it does with the number.
Ref number_beside(Tracer& tracer, PyObject* number, PyObject* tensor);

// True if torch takes the number where it needs one of this dtype: it raises if that has no room for it. False also
// where this cannot be asked without taking the number's value.
bool number_fits(Tracer& tracer, PyObject* number, PyObject* dtype);

bool holds_symbolic_float(const Arguments& arguments);
// A call of torch's that is given traced numbers.
Ref record_call_with_numbers(Tracer& tracer, NodeKind kind, PyObject* target, const Arguments& arguments);

}  // namespace minidynamo
