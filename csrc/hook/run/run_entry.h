// Running cache entries: the residual function, and the resume functions that it goes on with, one after the other on
// one level of the stack.
//
// Residual code ends with the call of a resume function. The frame hook does not answer that call: it puts it aside and
// lets the residual function return, so that a loop with a break in its body does not grow the stack, and tracebacks
// hold no frame twice.
#pragma once
#include "cache/code_cache.h"
#include "hook/run/find_entry.h"
#include "hook/runtime.h"
#include "python/version/eval_frame.h"

namespace minidynamo {

// Looks for an entry that fits and runs it. `captured` false: none does, and nothing ran.
Ref run_cached(CodeCache* cache, const FrameView& view, PyObject* config, bool& captured);
// The same, capturing the frame if no entry fits. The result is the frame's if the answer is Entry (it may be an error)
// or Raise.
Ref run_captured(PyCodeObject* code, const FrameView& view, PyObject* config, FrameAnswer& answer);

// For the frame hook: if the frame is a resume function's that runs as it is, it has its arguments, and nothing else is
// to keep them alive.
void note_start(const InterpreterFrame& frame) noexcept;

// For the frame hook: if the frame is the last call of residual code that runs on this thread, puts it aside and
// returns the value that the residual function is to return. Null Ref without a Python error otherwise.
Ref defer_resume(const InterpreterFrame& frame);

}  // namespace minidynamo
