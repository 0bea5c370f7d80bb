// The attributes that instances have themselves: in their __dict__, which may itself be in use, or in what the trace
// wrote.
#pragma once
#include "world/state/tracer.h"

namespace minidynamo {

// An attribute of the object's own __dict__ or overlay; null Ref without error: absent.
Ref load_from_instance(Tracer& tracer, PyObject* object, PyObject* name);
// The filled shadow of an external object's __dict__, if the program uses the dict as such, or has written to it
// through another object that has the same one. Null without an error: no, and with the trace over: it cannot be had.
ShadowContainer* shared_instance_dict(Tracer& tracer, PyObject* object);
// To be called when an object of the trace's own making was given an attribute: a __dict__ from elsewhere stays the
// same dict when the object leaves. False on a break.
bool note_given_dict(Tracer& tracer, PyObject* object, PyObject* name, PyObject* value);
// The place of an attribute in an external instance or class itself, of a name in a dict, or of the contents of a cell,
// as they were before the trace.
struct OwnPlace {
  Source* owner;
  Access access;
  PyObject* key;
  Ref held;  // null: nothing

  Source* source_of_held(Tracer& tracer) const { return tracer.guards.child(owner, access, key, -1, held.get()); }
};
OwnPlace own_place(Tracer& tracer, PyObject* object, PyObject* name);
// True if an external instance, dict or cell itself has the attribute, before what the trace wrote; guarded.
bool guard_own_attribute(Tracer& tracer, PyObject* object, PyObject* name);

}  // namespace minidynamo
