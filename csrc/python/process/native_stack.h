// The C stack of a thread, and more of it where it ends.
//
// With a frame hook every Python call is a C call as well, where CPython alone takes none of the C stack for it: a
// program whose recursion is deep, or whose threads have small stacks, would overflow it. The hook could be taken out
// while such a thread runs, but it is the interpreter's, not the thread's: a trace on another thread, and residual code
// that counts on the hook, would go wrong. So the hook stays, and the thread goes on on another stack.
#pragma once
#include <cstddef>

namespace minidynamo {

// In bytes, of the stack that the thread is on now. Where it cannot be told, a lot.
size_t native_stack_left() noexcept;

// Captures and traces want so much: what they call (torch, a backend) takes some.
inline constexpr size_t kStackForCapture = 1024 * 1024;
inline constexpr size_t kStackForInlining = 512 * 1024;

// Runs `work` on a stack of its own, in this thread and before it returns. False: there is no memory for one, or the
// processor is not known; nothing ran.
bool run_on_another_stack(void (*work)(void*), void* argument) noexcept;
// The same for a callable; it must not throw.
template <typename Work>
bool run_on_another_stack(Work& work) noexcept {
  return run_on_another_stack([](void* callable) { (*static_cast<Work*>(callable))(); }, &work);
}

}  // namespace minidynamo
