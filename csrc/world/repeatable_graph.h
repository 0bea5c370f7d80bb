// Whether a graph may be run a second time where it has raised: then the frame runs as it was, and raises the program's
// own error (trace/checks.h).
#pragma once
#include "world/tracer.h"

namespace minidynamo {

enum class Repeatable : uint8_t {
  No,
  AsItIs,           // it changes nothing
  WithSameNumbers,  // it draws from torch's generator on the CPU, and does nothing else: that has to be put back
};

Repeatable is_repeatable(const Tracer& tracer);
// Whether it checks what the program's values are.
bool has_checks(const Tracer& tracer);

}  // namespace minidynamo
