// Lookups in classes, with the guards that keep their results so.
#pragma once
#include "world/state/tracer.h"

namespace minidynamo {

// _PyType_Lookup with a guard on what was found, or that nothing was. Raw: an unbound descriptor, outside. Null Ref
// without a Python error: absent.
Ref lookup_in_class(Tracer& tracer, PyTypeObject* type, PyObject* name);
// True if a class's own namespace has the name, by now; and the guard that it has not.
bool class_has_itself(Tracer& tracer, PyTypeObject* type, PyObject* name);
void guard_has_not_itself(Tracer& tracer, PyTypeObject* type, PyObject* name);

// Before C code does anything with an object: whatever it may look up in the object's class is guarded to be what it is
// now, or to be absent still.
void guard_special_methods(Tracer& tracer, PyObject* object);
// The order in which a class and its bases are looked through is guarded.
void guard_bases(Tracer& tracer, PyTypeObject* type);
// Guards what isinstance(object, classes) and issubclass(object, classes) look at apart from Python methods: bases, and
// which special methods there are.
void guard_class_check(Tracer& tracer, PyObject* object, PyObject* classes);

// True if instances of a class have a finalizer, guarded: a trace makes none, neither the program's nor what would
// stand for one from before the trace. Its end would run the program's code.
bool has_finalizer(Tracer& tracer, PyTypeObject* type);
// The same where an instance is about to be made: true, and the trace ends.
bool refuses_finalizer(Tracer& tracer, PyTypeObject* type);

}  // namespace minidynamo
