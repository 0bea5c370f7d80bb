// Numbers that the program reads out of tensors, which only the run of the graph knows: ints and truth values are
// symbols (world/proxies/unbacked_numbers.h), floats are traced numbers (world/proxies/symbolic_float.h).
#pragma once
#include <string_view>

#include "world/state/tracer.h"

namespace minidynamo {

// The result of a method of a fake (item, tolist, __int__, __index__, __float__, __bool__), if the fake is real, on the
// CPU, and small. Null without a break: it is not such a call.
Ref read_numbers(Tracer& tracer, PyObject* tensor, std::string_view method);

}  // namespace minidynamo
