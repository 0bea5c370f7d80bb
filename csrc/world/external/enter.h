// Enters external objects into a trace, with the guards that their use needs.
#pragma once
#include "world/state/tracer.h"

namespace minidynamo {

// The in-trace object for a source's value. Null on a break.
Ref enter(Tracer& tracer, Source* source);

// A part of a source's value: `raw`, reached by `access` with `key` or `index`, enters. Null for a part that is not
// there: that is guarded, and no Python error is set unless one is set already.
Ref load_part(Tracer& tracer, Source* owner, Access access, PyObject* key, PyObject* raw, int32_t index = -1);

// The __dict__ of an external object, used as a dict: a shadow through which the object's attributes are then read and
// written, with those that the trace has written so far. Null on a break.
Ref load_own_dict(Tracer& tracer, PyObject* object);

// Fills a shadow: every element enters. After that any code may use it as the real thing.
bool fill(Tracer& tracer, ShadowContainer& shadow);
inline bool materialize_if_shadow(Tracer& tracer, PyObject* object) {
  ShadowContainer* found = tracer.world.shadow(object);
  return !found || found->filled || fill(tracer, *found);
}

}  // namespace minidynamo
