// Objects whose text (str, repr) has an address in it, which is another at the next run.
#pragma once
#include "world/tracer.h"

namespace minidynamo {

bool shows_address(PyObject* object);
// Whether native code may turn an object into text. It may not where the text shows an address, or an object that can
// only be passed on: then the trace ends, and the answer is false.
bool can_show(Tracer& tracer, PyObject* object);

}  // namespace minidynamo
