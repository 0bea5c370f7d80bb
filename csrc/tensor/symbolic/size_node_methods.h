// The methods of a size's node that torch's Python code calls, and that torch's C++ interface of nodes does not have.
#pragma once
#include <Python.h>

namespace minidynamo {

// Adds the class of the nodes to a module. Needs torch; throws pybind11::error_already_set.
void add_size_node_class(PyObject* module);

}  // namespace minidynamo
