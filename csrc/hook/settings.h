// Settings of a configuration (minidynamo/_capture/capture_config.py).
#pragma once
#include "python/ref.h"

namespace minidynamo {

// Null if there is none of this name. Settings are properties, read in Python: a signal that arrives meanwhile is not
// for those who ask, and is left for the program.
Ref setting(PyObject* config, const char* name);
bool is_set(PyObject* config, const char* name);  // true if it is something true

}  // namespace minidynamo
