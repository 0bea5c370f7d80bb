// Annotations that are made when they are asked for (PEP 649), from CPython 3.14 on.
#pragma once
#include "python/ref.h"

namespace minidynamo {

// True if looking at an object's attribute of this name runs code of the program that makes the annotations of a
// function or class.
bool makes_annotations(PyObject* object, PyObject* name) noexcept;

// What MAKE_FUNCTION does with the function that makes the annotations: it belongs to `function` from now on, and bears
// its name, in the releases of CPython that give it one.
void set_annotations_maker(PyFunctionObject* function, Ref maker);

}  // namespace minidynamo
