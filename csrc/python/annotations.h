// Annotations that are made when they are asked for (PEP 649), from CPython 3.14 on.
#pragma once
#include "python/ref.h"

namespace minidynamo {

// Whether looking at an object's attribute of this name runs code of the program that makes the annotations of a
// function or class.
bool makes_annotations(PyObject* object, PyObject* name) noexcept;

}  // namespace minidynamo
