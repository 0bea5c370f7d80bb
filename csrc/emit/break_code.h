// The end of residual code where a trace ended before its frame: running one instruction as CPython would, and calling
// the resume function for what is left. See PlanBreak.
#pragma once
#include <functional>

#include "emit/code_builder.h"
#include "emit/plan.h"

namespace minidynamo {

// How a residual function holds its values.
struct ResidualValues {
  std::function<void(ValueId)> push;         // puts one on the stack
  std::function<int32_t(ValueId)> local_of;  // the variable that holds one; -1: none does
  std::function<void(ValueId)> forget;       // lets go of one, wherever it is held
  bool has_live;                             // there is a list of live values
};

// Appends it to a residual function.
//
// `globals` are the residual function's own. The instruction runs in the residual function itself, or, where it stood
// in inlined calls, in the innermost of a chain of small functions that look like the frames of those calls:
// tracebacks, warnings and logging see the user's stack.
void write_break(CodeBuilder& code, const PlanBreak& end, PyObject* globals, const ResidualValues& values);

// The residual function's parameters, by fast local.
constexpr int32_t kInputs = 0, kLive = 1;

}  // namespace minidynamo
