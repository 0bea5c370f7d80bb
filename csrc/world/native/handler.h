// The code of the trace that may see an error which is raised at an instruction.
#pragma once
#include <cstdint>

#include "world/state/frame.h"

namespace minidynamo {

// In the order of how likely the error ends there. A context manager of torch's swallows none; C code between two
// frames may; the program's `with` blocks can; an `except` or `finally` clause sees it.
enum class Handler : uint8_t { None, TorchContext, NativeCode, With, Clause };

// The likeliest of a frame and its callers. `instruction` is the innermost frame's.
Handler handler_around(const Frame& innermost, int32_t instruction);

}  // namespace minidynamo
