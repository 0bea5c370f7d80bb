// How much of its C stack a thread has left. CPython counts Python calls only, and the program may raise that limit:
// with a frame hook every Python call is a C call as well.
#pragma once
#include <cstddef>

namespace minidynamo {

// In bytes. Where it cannot be told, a lot.
size_t native_stack_left() noexcept;

// Captures and traces want so much: what they call (torch, a backend) takes some.
inline constexpr size_t kStackForCapture = 1024 * 1024;
inline constexpr size_t kStackForInlining = 512 * 1024;

}  // namespace minidynamo
