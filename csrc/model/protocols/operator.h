// Names of operators.
#pragma once

namespace minidynamo {

// CPython's NB_* number of an operator by its name in the operator module ("add", "iadd"); -1: none.
int binary_operator_named(const char* name) noexcept;
// Py_LT... by such a name; -1: none.
int comparison_named(const char* name) noexcept;

}  // namespace minidynamo
