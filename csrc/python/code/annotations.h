// Annotations that are made when they are asked for (PEP 649), from CPython 3.14 on.
#pragma once
#include "python/ref.h"

namespace minidynamo {

// True if looking at an object's attribute of this name runs code of the program that makes the annotations of a
// function or class.
bool makes_annotations(PyObject* object, PyObject* name) noexcept;

// Attaches the function that makes the annotations, as MAKE_FUNCTION does: `function` owns it from now on, and it bears
// the name of `function` in the releases of CPython that name it.
void set_annotations_maker(PyFunctionObject* function, Ref maker);

}  // namespace minidynamo
