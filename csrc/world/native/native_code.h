// The border between a trace and native code: what C code may see of in-trace objects, and what it returns.
#pragma once
#include <span>

#include "python/process/warning_trap.h"
#include "world/external/set_order.h"
#include "world/state/tracer.h"

namespace minidynamo {

// Ends the trace: an object that can only be passed on is used. False.
bool use_opaque(Tracer& tracer, PyObject* object);
// Makes an object fit for native code: shadows filled. Unless that code asks for no order of a set, the order is known.
bool prepare_for_native(Tracer& tracer, PyObject* object, SetOrder order = SetOrder::Read);
inline bool expose_all(Tracer& tracer, std::span<const Ref> objects, SetOrder order = SetOrder::Read) {
  for (const Ref& object : objects)
    if (!prepare_for_native(tracer, object.get(), order)) return false;
  return true;
}
// Adopts the result of native code: real tensors are replaced by their stand-ins, unknown ones end the trace. Null
// stays null.
Ref adopt_result(Tracer& tracer, Ref result);

// True if C code that ran under a trap made no warning. False: the trace ends before that code, which will warn at its
// place, under the filters that the program has by then.
bool gave_no_warning(Tracer& tracer, const WarningTrap& trap, const char* what);
// Ends the trace before C code that gave a warning.
std::nullptr_t refuse_what_warns(Tracer& tracer, const std::string& what);

// The object that a weak reference leads to, or None. That of a reference from before the trace is guarded.
Ref referent_of(Tracer& tracer, PyObject* reference);

}  // namespace minidynamo
