// Operations on traced arrays (world/proxies/fake_array.h): they are done by torch._numpy to their elements, and by
// NumPy to their twins.
//
// All of these end the trace where the two differ, where NumPy's layer in torch does not know the operation, or where
// either of them raises: then the program's own call, with its own error, is the next thing that runs.
#pragma once
#include "model/protocols/arguments.h"
#include "world/state/tracer.h"

namespace minidynamo {

// tensor.numpy(): an array that shares the memory of a fake.
Ref array_of_fake(Tracer& tracer, PyObject* fake);
// torch.from_numpy(array): a tensor that shares the memory of a traced array; `shares` false: torch.tensor(array).
Ref tensor_of_array(Tracer& tracer, PyObject* array, bool shares);

// numpy.asarray(tensor), numpy.array(tensor).
bool makes_array_of_fake(PyObject* callable, const Arguments& arguments);
Ref make_array_of_fake(Tracer& tracer, PyObject* callable, const Arguments& arguments);

// True if one is among the arguments, or in a tuple, list, dict or slice there.
bool takes_fake_array(const Arguments& arguments);
// The number that int(), float() and complex() read: NumPy raises where the array has dimensions.
Ref number_of_array(Tracer& tracer, PyObject* array);
bool holds_fake_array(PyObject* object);

// A function of NumPy's, or a method or class of its arrays and scalars.
bool is_of_numpy(PyObject* callable);
// numpy.zeros, numpy.empty, which the program is going to write to.
bool makes_array_to_fill(PyObject* callable);
Ref call_with_arrays(Tracer& tracer, PyObject* callable, const Arguments& arguments);
Ref array_attribute(Tracer& tracer, PyObject* array, PyObject* name);
Ref array_unary(Tracer& tracer, Op op, PyObject* operand);
struct ArrayOperator {
  PyObject* (*apply)(PyObject*, PyObject*);
  // Special methods: its own, that of the operator that is not in place, and what the right operand has.
  const char *method, *plain_method, *reflected;
};
Ref array_binary(Tracer& tracer, const ArrayOperator& binary, PyObject* left, PyObject* right);
Ref array_compare(Tracer& tracer, int comparison, PyObject* left, PyObject* right);
Ref array_subscript(Tracer& tracer, PyObject* array, PyObject* key);
bool store_array_subscript(Tracer& tracer, PyObject* array, PyObject* key, PyObject* value);

}  // namespace minidynamo
