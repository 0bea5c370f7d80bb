// True if a graph may be run a second time where it has raised: then the frame runs uncaptured, and raises the
// program's own error (trace/checks.h).
#pragma once
#include "tensor/values/saved_inputs.h"
#include "world/state/tracer.h"

namespace minidynamo {

struct Repeatable {
  enum class How : uint8_t {
    No,
    AsItIs,           // it changes nothing
    WithSameNumbers,  // it draws from torch's generator on the CPU, and does nothing else: that has to be put back
    WithSameInputs,   // it may draw, and writes to inputs: what it writes before it may raise has to be put back
  };
  How how = How::No;
  WrittenInputs inputs = {};
};

// `inputs`: of the graph, in order.
Repeatable is_repeatable(const Tracer& tracer, const std::vector<Source*>& inputs);
// True if it may run again with nothing but torch's generator put back.
bool changes_no_input(const Tracer& tracer);
// True if it checks what the program's values are, or has operators that may raise because of them.
bool may_raise(const Tracer& tracer);

}  // namespace minidynamo
