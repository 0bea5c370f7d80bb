// Ints that the program reads out of tensors, which only the run of the graph knows (world/unknown_numbers.h).
#pragma once
#include <string_view>

#include "world/tracer.h"

namespace minidynamo {

// What a method of a fake gives (item, tolist, __int__, __index__), if it is of ints, and few. Null without a break: it
// is none such.
Ref read_numbers(Tracer& tracer, PyObject* tensor, std::string_view method);

}  // namespace minidynamo
