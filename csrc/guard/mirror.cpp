#include "guard/mirror.h"

#include <cstdio>
#include <utility>

#include "guard/guard_program.h"
#include "python/process/interruptions.h"
#include "python/process/out_of_memory.h"
#include "python/process/thread_switches.h"

namespace minidynamo {
namespace {

std::vector<std::string>& recorded() {
  static std::vector<std::string> differences;
  return differences;
}

}  // namespace

void mirror_check(const GuardProgram& program, const FrameView& frame, bool holds, unsigned long switches) noexcept {
  const InterruptionsHeld meanwhile;  // the slow check may run what the fast one does not
  const MemoryWatch memory;
  std::optional<Failure> failure;
  try_to([&] { failure = program.first_failure(frame); });
  if (memory.failed() || !failure == holds || thread_switches() != switches) return;
  std::string text = holds
                         ? "the fast check passes, and the slow one says: " + program.failure_text(*failure)
                         : "the fast check fails, and by the slow one all guards hold: " +
                               (program.to_text().empty() ? std::string("there are none") : program.to_text().front());
  std::fprintf(stderr, "minidynamo: mirror mode: %s\n", text.c_str());
  if (mirror_mode == Mirror::Abort) Py_FatalError("the two checks of an entry's guards differ");
  recorded().push_back(std::move(text));
}

std::vector<std::string> take_mirror_differences() { return std::exchange(recorded(), {}); }

}  // namespace minidynamo
