// Attribute access as CPython does it, by hand on outside objects (so that each step gives a source and a guard).
#pragma once
#include "world/tracer.h"

namespace minidynamo {

Ref load_attribute(Tracer& tracer, PyObject* object, PyObject* name);
// What object.__getattribute__ does: past any override, and without __getattr__.
Ref load_attribute_generically(Tracer& tracer, PyObject* object, PyObject* name);
// For a call: `self` is null if `callable` is to be called without it. False on failure.
bool load_method(Tracer& tracer, PyObject* object, PyObject* name, Ref& callable, Ref& self);
bool store_attribute(Tracer& tracer, PyObject* object, PyObject* name, PyObject* value);  // value null: delete
// What object.__setattr__ and object.__delattr__ do, past any override.
bool store_in_instance(Tracer& tracer, PyObject* object, PyObject* name, PyObject* value);

// What a descriptor gives for an object, by the name that it was found under (needed for getters of C code only).
Ref bind_descriptor(Tracer& tracer, PyObject* descriptor, PyObject* object, PyObject* name);

// _PyType_Lookup with a guard on what was found, or that nothing was. Raw: an unbound descriptor, outside. Null Ref
// without a Python error: absent.
Ref lookup_in_class(Tracer& tracer, PyTypeObject* type, PyObject* name);
// Before C code does anything with an object: whatever it may look up in the object's class is guarded to be what it is
// now, or to be absent still.
void guard_special_methods(Tracer& tracer, PyObject* object);
// The order in which a class and its bases are looked through is guarded.
void guard_bases(Tracer& tracer, PyTypeObject* type);
// What isinstance(object, classes) and issubclass(object, classes) look at apart from Python methods: bases, and which
// special methods there are.
void guard_class_check(Tracer& tracer, PyObject* object, PyObject* classes);

Ref load_global(Tracer& tracer, Frame& frame, PyObject* name);
// The same among the builtins of the frame alone; null Ref without a Python error: there is none of that name.
Ref load_builtin(Tracer& tracer, Frame& frame, PyObject* name);
// An attribute of the object's own __dict__ or overlay; null Ref without error: absent.
Ref load_from_instance(Tracer& tracer, PyObject* object, PyObject* name);
// Whether an outside instance, dict or cell itself has the attribute, before what the trace wrote; guarded.
bool guard_own_attribute(Tracer& tracer, PyObject* object, PyObject* name);
Ref load_cell(Tracer& tracer, PyObject* cell);  // null Ref without error: empty
// What a function holds (defaults, closure, code...), entered if the function is outside.
// Makes the functions of an outside property known before C code takes them out; true for other objects.
bool enter_functions_of_property(Tracer& tracer, PyObject* object);
Ref load_function_part(Tracer& tracer, PyObject* function, const char* attribute);

}  // namespace minidynamo
