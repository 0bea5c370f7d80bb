// Writing attributes past any override.
#pragma once
#include "world/state/tracer.h"

namespace minidynamo {

// As object.__setattr__ and object.__delattr__; a null value deletes.
bool store_in_instance(Tracer& tracer, PyObject* object, PyObject* name, PyObject* value);

}  // namespace minidynamo
