// Mirror mode, for tests: every check of a guard tree is made a second time, in the plain slow way, and the two answers
// must be equal. What the fast check skips (stamps, hints, remembered addresses) is proved in guard_program.h; here the
// proof is tried on every call that a test makes.
#pragma once
#include <string>
#include <vector>

#include "guard/mirror_mode.h"

namespace minidynamo {

class GuardProgram;
struct FrameView;

// Compares what the fast check said of a frame with what the slow one says. Both see the same world only if no other
// thread has run since the fast one began, when there had been so many `switches` (python/process/thread_switches.h).
void mirror_check(const GuardProgram& program, const FrameView& frame, bool holds, unsigned long switches) noexcept;

// The differences recorded since the last call.
std::vector<std::string> take_mirror_differences();

}  // namespace minidynamo
