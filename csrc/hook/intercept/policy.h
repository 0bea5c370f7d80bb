// Which frames are worth a capture, outside those that optimize() was asked for; and when none may be captured.
#pragma once
#include "guard/source.h"
#include "python/version/eval_frame.h"

namespace minidynamo {

// User code (not the standard library, torch or minidynamo) that can come to a tensor or an nn.Module in a few steps
// through containers and attributes, from its arguments. Under config.stress, any Python function. Under global capture
// (`config` is that of the whole program) also from its closure or the names that it uses, and forward() of any module,
// called from outside all that; but not a function that makes objects, returns elements by their number, or is an
// optimizer's.
bool should_capture(const InterpreterFrame& frame, PyObject* config);

// True if the frame is a module's constructor under global capture: all that it calls runs uncaptured, once.
bool makes_module(const InterpreterFrame& frame, PyObject* config);

// Why a call that no entry fits is not to be captured this time, whatever it is that runs: something of the program's
// looks at every operation. Null: nothing does.
const char* capture_blocker();

// True if a resume function's frame alone holds an object with a finalizer, which the program made before it. A trace
// keeps what it meets until its effects are there, and would have it end too late; the frame runs as it is, what it
// calls is captured. Not iterators: a loop ends those, which a trace sees.
bool holds_last_of_finalized(PyCodeObject* code, const FrameView& view) noexcept;

}  // namespace minidynamo
