// The attributes that instances have themselves: in their __dict__, which may itself be in use, or in what the trace
// wrote.
#pragma once
#include "world/tracer.h"

namespace minidynamo {

// An attribute of the object's own __dict__ or overlay; null Ref without error: absent.
Ref load_from_instance(Tracer& tracer, PyObject* object, PyObject* name);
// The __dict__ of an external object, as a shadow through which its attributes are then read and written.
Ref load_own_dict(Tracer& tracer, PyObject* object);
// The filled shadow of an external object's __dict__, if the program uses the dict as such.
ShadowContainer* materialized_instance_dict(Tracer& tracer, PyObject* object);
// Whether an external instance, dict or cell itself has the attribute, before what the trace wrote; guarded.
bool guard_own_attribute(Tracer& tracer, PyObject* object, PyObject* name);

}  // namespace minidynamo
