// Objects from before the trace that lose their place: an attribute, a name of a module, a variable around a function
// or an item of a container is replaced or deleted. (For a frame's own variables and stack see object_end.h.)
//
// The trace itself writes nothing outside, so the places of before are still as they were: what the trace would write
// there is compared with them behind each instruction that may have come to write.
#pragma once
#include "world/state/tracer.h"

namespace minidynamo {

inline bool may_have_let_go(const Tracer& tracer) noexcept {
  return tracer.effects.writes() != tracer.ends.writes_known || tracer.world.any_holder_is_used();
}

// Looks at what the instruction has let go. If code of the program runs at its end, the trace ends here, so that
// CPython runs the instruction behind all that came before; or behind it, where it can only run in its own frame.
void look_at_let_go(Tracer& tracer, Frame& frame);

// True if the object, from before the trace, may have lost its last place in the trace.
bool may_be_gone(const Tracer& tracer, PyObject* object);

}  // namespace minidynamo
