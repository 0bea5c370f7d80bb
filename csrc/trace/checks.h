// Conditions on tensors that decide only whether the program raises.
#pragma once
#include "world/state/tracer.h"

namespace minidynamo {

// The truth of what a conditional jump of `frame` asks about; -1 after an error or at the end of the trace. Of a tensor
// whose values are not known, one way raises (`assert`, `if ...: raise`): the other way is taken, and the graph checks
// that it is the right one.
int truth_at_jump(Tracer& tracer, Frame& frame, PyObject* condition);

}  // namespace minidynamo
