#include "hook/run/precompilation.h"

namespace minidynamo {

Precompilation*& Precompilation::current() noexcept {
  thread_local Precompilation* innermost = nullptr;
  return innermost;
}

Ref Precompilation::answer(const FrameView& view, PyObject* config) {
  Precompilation* asked = current();
  FoundEntry found;
  const FrameAnswer answer = find_entry(std::exchange(asked->target_, nullptr), view, config, found);
  if (answer == FrameAnswer::Raise) return nullptr;
  asked->is_whole_ = answer == FrameAnswer::Entry && !found.entry->is_broken;
  if (found.entry) found.entry->guards.release();
  return Ref::none();
}

Ref Precompilation::decline() noexcept {
  current()->target_ = nullptr;
  return Ref::none();
}

}  // namespace minidynamo
