// The end of residual code where a trace ended before its frame: running one instruction as CPython would, and calling
// the resume function for what is left. See PlanBreak.
#pragma once
#include <functional>

#include "codegen/code_builder.h"
#include "codegen/plan.h"

namespace minidynamo {

// Appends it to a residual function whose values `push` puts on the stack.
//
// `globals` are the residual function's own. The instruction runs in the residual function itself, or, where it stood
// in inlined calls, in the innermost of a chain of small functions that look like the frames of those calls:
// tracebacks, warnings and logging see the user's stack.
void write_break(CodeBuilder& code, const PlanBreak& end, PyObject* globals, const std::function<void(ValueId)>& push);

}  // namespace minidynamo
