// Objects whose text (str, repr) has an address in it, which is another at the next run.
#pragma once
#include "world/tracer.h"

namespace minidynamo {

bool shows_address(PyObject* object);
// Whether native code may turn an object into text: no address comes into it, and nothing of what it shows can only be
// passed on. False ends the trace.
bool can_show(Tracer& tracer, PyObject* object);

}  // namespace minidynamo
