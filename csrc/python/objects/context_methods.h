// Methods that the interpreter looks for in an object's class: those of `with`.
#pragma once
#include "python/ref.h"

namespace minidynamo {

// A TypeError that the class has no such method (__enter__, __exit__, ...), in CPython's words.
void raise_no_special_method(PyObject* object, const char* name);
// The method, bound to the object; null with a Python error.
Ref special_method(PyObject* object, const char* name);

}  // namespace minidynamo
