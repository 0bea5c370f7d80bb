// Between a trace and native code: what C code may see of in-trace objects, and what it gives back.
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
// What native code returned: real tensors are replaced by what stands for them, unknown ones end the trace. Null stays
// null.
Ref adopt_result(Tracer& tracer, Ref result);

// What C code gave that ran under a trap: good, if it gave no warning. Else the trace ends before that code, which will
// warn at its place, under the filters that the program has by then; false.
bool gave_no_warning(Tracer& tracer, const WarningTrap& trap, const char* what);
// Ends the trace before C code that gave a warning.
std::nullptr_t refuse_what_warns(Tracer& tracer, const std::string& what);

// What a weak reference leads to, or None. From before the trace: that is guarded.
Ref referent_of(Tracer& tracer, PyObject* reference);

}  // namespace minidynamo
