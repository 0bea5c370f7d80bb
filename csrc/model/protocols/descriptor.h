// Descriptors: what is found in a class, and the value that it yields for an instance or for the class itself.
#pragma once
#include "world/state/tracer.h"

namespace minidynamo {

bool is_data_descriptor(PyObject* object) noexcept;
bool is_read_only(PyObject* member_descriptor) noexcept;
// True for a member of __slots__, as opposed to fields of C structs, which take only values of their kind.
bool is_slot(PyObject* member_descriptor) noexcept;

// The value that a descriptor yields for an object, by the name that it was found under (needed for getters of C code
// only).
Ref bind_descriptor(Tracer& tracer, PyObject* descriptor, PyObject* object, PyObject* name);
// The function of typing that a method of Generic calls, which is C code in CPython 3.12 and later; null: another
// method.
Ref function_of_generic(Tracer& tracer, PyObject* method);
// The value that an attribute found in a class yields for the class itself, without an instance.
Ref bind_without_instance(Tracer& tracer, const Ref& attribute, PyTypeObject* type, PyObject* name);
// Reads a C-implemented attribute (slot or getset) of an object.
Ref load_native_attribute(Tracer& tracer, PyObject* object, PyObject* name, PyObject* descriptor);
// The Python part of a descriptor (property.fget, classmethod.__func__), entered if the descriptor is outside.
Ref descriptor_part(Tracer& tracer, PyObject* descriptor, const char* attribute);
// Makes the functions of an outside property known before C code takes them out; true for other objects.
bool enter_functions_of_property(Tracer& tracer, PyObject* object);
// A part of a function (defaults, closure, code...), entered if the function is outside.
Ref load_function_part(Tracer& tracer, PyObject* function, const char* attribute);

}  // namespace minidynamo
