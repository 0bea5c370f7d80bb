// The end of residual code where a trace ended before its frame: running one instruction as CPython would, and calling
// the resume function for what is left. See PlanBreak.
#pragma once
#include <functional>

#include "codegen/code_builder.h"
#include "codegen/plan.h"

namespace minidynamo {

// Appends it to a residual function whose values `push` puts on the stack, and `local_of` finds in variables (-1: in
// none; asked for kNoValue, it says kLive if there is a list of live values).
//
// `globals` are the residual function's own. The instruction runs in the residual function itself, or, where it stood
// in inlined calls, in the innermost of a chain of small functions that look like the frames of those calls:
// tracebacks, warnings and logging see the user's stack.
void write_break(CodeBuilder& code, const PlanBreak& end, PyObject* globals, const std::function<void(ValueId)>& push,
                 const std::function<int32_t(ValueId)>& local_of);

// The residual function's parameters, by fast local.
constexpr int32_t kInputs = 0, kLive = 1;

}  // namespace minidynamo
