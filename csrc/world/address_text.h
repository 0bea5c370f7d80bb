// Objects whose text (str, repr) has an address in it, which is another at the next run.
#pragma once
#include "world/tracer.h"

namespace minidynamo {

bool shows_address(PyObject* object);
// Whether native code may turn an object into text; false ends the trace.
bool check_no_address_in_repr(Tracer& tracer, PyObject* object);

}  // namespace minidynamo
