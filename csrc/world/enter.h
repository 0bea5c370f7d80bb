// How outside objects enter a trace, with the guards that their use needs.
#pragma once
#include "world/tracer.h"

namespace minidynamo {

// The in-trace object for what a source gave. Null on a break.
Ref enter(Tracer& tracer, Source* source);

// A part of what a source gave: `raw`, reached by `access` with `key` or `index`, enters. Null for a part that is not
// there: that is guarded, and null comes back, without a
// Python error unless one is set already.
Ref load_part(Tracer& tracer, Source* owner, Access access, PyObject* key, PyObject* raw, int32_t index = -1);

// Fills a stand-in: every element enters. After that any code may use it as the real thing.
bool fill(Tracer& tracer, StandIn& stand_in);
inline bool fill_if_stand_in(Tracer& tracer, PyObject* object) {
  StandIn* found = tracer.world.stand_in(object);
  return !found || found->filled || fill(tracer, *found);
}

}  // namespace minidynamo
