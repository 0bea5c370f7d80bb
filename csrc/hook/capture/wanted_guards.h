// Which guards the user's configuration wants checked (options={"guard_filter_fn": ...}).
#pragma once
#include "guard/source.h"
#include "python/ref.h"

namespace minidynamo {

// Ends building the guards: of those that the configuration wants. False with a Python error set if its filter raised.
bool finish_wanted_guards(GuardTree& guards, PyObject* config);

}  // namespace minidynamo
