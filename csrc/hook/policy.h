// Which frames are worth a capture, outside those that optimize() was asked for.
#pragma once
#include "python/eval_frame.h"

namespace minidynamo {

// User code (not the standard library, torch or minidynamo) from whose arguments a tensor or an nn.Module can be
// reached in a few steps through containers and attributes. Under config.stress, any Python function.
bool should_capture(const InterpreterFrame& frame);

}  // namespace minidynamo
