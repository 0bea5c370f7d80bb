// Numbers that the program reads out of tensors, which only the run of the graph knows: ints and truth values are
// symbols (world/proxies/unbacked_numbers.h), floats are traced numbers (world/proxies/symbolic_float.h).
#pragma once
#include <string_view>

#include "world/state/tracer.h"

namespace minidynamo {

// What a method of a fake gives (item, tolist, __int__, __index__, __float__, __bool__), if it is real, on the CPU, and
// little. Null without a break: it is none such.
Ref read_numbers(Tracer& tracer, PyObject* tensor, std::string_view method);

}  // namespace minidynamo
