// Methods of C code bound to an object: builtin methods (`items.append`) and slots (`items.__len__`).
#pragma once
#include "python/ref.h"

namespace minidynamo {

// True if an object is a slot of C code bound to an instance: CPython's method-wrapper, as `items.__len__`.
bool is_bound_slot(PyObject* object) noexcept;
// True if an object is one whose `self` is an instance (not a module, a class, or a library's own record).
bool is_bound_native_method(PyObject* object) noexcept;
// Its self, and the class's descriptor that it was made from (borrowed; null if the class has none such).
Ref bound_self_of(PyObject* method) noexcept;
PyObject* descriptor_behind(PyObject* method) noexcept;

// The object that a C function is bound to (an instance, a class or a module), borrowed. Null: it is no C function.
PyObject* bound_self(PyObject* callable) noexcept;

// The key by which a table finds a callable: for a C function or method, bound or not, its definition, since each
// attribute access makes a new bound one; for any other callable, its address.
const void* definition_of(PyObject* callable) noexcept;

}  // namespace minidynamo
