// The instructions that make calls and functions: from the value stack to model/abstract.h.
#pragma once
#include "world/tracer.h"

namespace minidynamo {

Ref call_instruction(Tracer& tracer, Frame& frame, int32_t count);
Ref call_unpacked(Tracer& tracer, Frame& frame, bool has_keywords);
Ref make_function(Tracer& tracer, Frame& frame, int32_t flags);

}  // namespace minidynamo
