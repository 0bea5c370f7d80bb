// torch's own layer for NumPy, torch._numpy: Python code that does with tensors what NumPy does with arrays.
#pragma once
#include <string_view>
#include <vector>

#include "world/state/tracer.h"

namespace minidynamo {

// The layer's replacement for a function or class of NumPy's; borrowed, null if it has none.
PyObject* layer_of(PyObject* callable);
// Functions of which it makes something else: the cube root of a negative number, the parts of one, the angle of a
// negative zero, rounding towards zero, a condition number of a singular matrix; a result in memory that torch warns
// about; powers of a complex zero, and what else its kernels do not know of complex numbers.
bool is_another_in_layer(std::string_view name, bool of_complex) noexcept;

// Its arrays, each over one tensor.
Ref layer_array(PyObject* elements);
bool is_layer_array(PyObject* object);
Ref elements_of_layer_array(PyObject* object);  // null without a Python error if that is no fake
Ref method_of_layer_array(const char* name);

// A special method, which is Python code: of the left operand, or the reflected one of the right; `right` may be null.
Ref call_layer_method(Tracer& tracer, const char* name, const char* reflected, const Ref& left, const Ref& right);
// A call of one of its functions. Options that it does not know are left out where they are not used.
Ref call_layer(Tracer& tracer, PyObject* callable, const std::vector<Ref>& values, PyObject* keyword_names);

}  // namespace minidynamo
