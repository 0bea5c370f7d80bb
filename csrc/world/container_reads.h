// Reads of an outside container that leave its stand-in unfilled.
#pragma once
#include "world/tracer.h"

namespace minidynamo {

// `found` false: absent (guarded). Null Ref with found true: break.
Ref item_of_stand_in(Tracer& tracer, StandIn& stand_in, PyObject* key, bool& found);  // of a dict
Ref element_of_stand_in(Tracer& tracer, StandIn& stand_in, Py_ssize_t index);         // of a list; index in range
Py_ssize_t length_of_stand_in(Tracer& tracer, StandIn& stand_in);
// Whether the original has attributes of its own, which the stand-in has not; guarded.
bool has_attributes(Tracer& tracer, const StandIn& stand_in);

}  // namespace minidynamo
