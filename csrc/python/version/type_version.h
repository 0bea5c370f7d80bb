// Reads what CPython knows about classes beneath its public API: version tags and raw attribute lookup.
//
// Borrowed results; no Python error is left set.
#pragma once
#include <cstdint>
#include <vector>

#include "python/ref.h"

namespace minidynamo {

// A number that no other class and no other state of this class (its own and its bases' attributes, its MRO) ever had
// or will have; 0 if it has none at the moment, which says nothing. A lookup in the class assigns one.
inline uint32_t type_version(PyTypeObject* type) noexcept {
#if PY_VERSION_HEX < 0x030D0000
  if (!(type->tp_flags & Py_TPFLAGS_VALID_VERSION_TAG)) return 0;
#endif
  return type->tp_version_tag;
}

// The attribute of the class or one of its bases under this name (an interned str), unbound; null if there is none.
PyObject* class_attribute(PyTypeObject* type, PyObject* name) noexcept;
// True if the attribute of this name lies in a slot, or in a member of the object's C struct, and not in its __dict__.
inline bool is_slot_of(PyObject* object, PyObject* name) noexcept {
  PyObject* descriptor = class_attribute(Py_TYPE(object), name);
  return descriptor && Py_IS_TYPE(descriptor, &PyMemberDescr_Type);
}

// True if a class statement (or a call of type) made the class: heap types that C code made are not meant.
bool is_python_class(PyTypeObject* type) noexcept;

// A static class of C code, which can neither change nor end, or one that was static in CPython 3.11: later versions
// make many classes of the standard library anew in each interpreter, immutable.
bool is_static_class(PyTypeObject* type) noexcept;

// The names of all special methods that C code may look up in a class to decide what an operation on an instance does,
// or on the class itself, if it is a metaclass.
const std::vector<PyObject*>& special_method_names();

// True if the program can set attributes of the class, or its bases.
inline bool is_mutable_class(PyTypeObject* type) noexcept {
  return (type->tp_flags & Py_TPFLAGS_HEAPTYPE) && !(type->tp_flags & Py_TPFLAGS_IMMUTABLETYPE);
}

// The nearest base that is not a Python class: it defines the layout of instances, and its tp_new and tp_init are C
// code.
inline PyTypeObject* native_base(PyTypeObject* type) noexcept {
  while (is_python_class(type) && type->tp_base) type = type->tp_base;
  return type;
}

// True if the type of such an object can never change by assignment to __class__.
inline bool type_is_permanent(PyTypeObject* type) noexcept {
  return (type->tp_flags & Py_TPFLAGS_IMMUTABLETYPE) && !PyType_IsSubtype(type, &PyModule_Type);
}

}  // namespace minidynamo
