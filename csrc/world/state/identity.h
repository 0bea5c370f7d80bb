// The facts that a program finds out by the identity of objects, guarded: that two are one or different, and what is
// found under a key that is hashed and compared by its address.
#pragma once
#include "world/native/address_hash.h"
#include "world/state/tracer.h"

namespace minidynamo {

// Containers that CPython compares by what they hold: by identity first.
bool holds_objects(PyObject* object) noexcept;

// Native code is about to compare or hash an object, which may do more than that: a comparison of decimal numbers obeys
// and changes the thread's context. Ends the trace, and returns false, if C code that is not known compares it.
bool check_comparable(Tracer& tracer, PyObject* object);
// Two external objects that the program found to be different must be different at the next call.
void guard_different(Tracer& tracer, PyObject* left, PyObject* right);
// Native code is about to compare objects that a value is or holds, which goes by identity first: those from outside
// must be different at the next call too.
void require_distinct(Tracer& tracer, PyObject* object);
// The object is looked up in a dict or set. If that goes by its identity: in an external container it must be the same
// at the next call, in one that the trace made it must be none of the others.
void guard_as_key(Tracer& tracer, PyObject* container, PyObject* key);

}  // namespace minidynamo
