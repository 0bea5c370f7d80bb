// Calls in residual code at which CPython does not look for signals and exceptions of other threads.
//
// It looks at the start of a function, behind each call and where a loop jumps back. An exception that came between two
// effects of a captured part would leave the others undone, and no handler of the program is around the residual code.
// So residual code calls with an operator: `call @ (callable, *arguments)`. What comes in the meantime is raised by the
// first call of the program: the instruction of a graph break, or the call of the captured function. At the start of a
// function it looks as the program does, so that a recursion which never returns can be interrupted.
#pragma once
#include <cstdint>

#include "python/ref.h"

namespace minidynamo {

inline constexpr int32_t kMatrixMultiply = 4;  // the argument of BINARY_OP
// The argument of RESUME: at the start of a function, and where CPython does not look either, as behind `yield from`.
enum class ResumeArgument : int32_t { Start = 0, Uninterrupted = 2 };

// The object on the operator's left. Borrowed, alive for the life of the process.
PyObject* uninterrupted_call();

}  // namespace minidynamo
