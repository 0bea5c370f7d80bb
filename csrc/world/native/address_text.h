// Objects whose text (str, repr) has an address in it, which is another at the next run.
#pragma once
#include "world/state/tracer.h"

namespace minidynamo {

bool shows_address(PyObject* object);
// True if native code may make the text of an object. False, and the trace ends: the text shows an address, or an
// opaque object's contents, which no guard covers.
bool can_show(Tracer& tracer, PyObject* object);

}  // namespace minidynamo
