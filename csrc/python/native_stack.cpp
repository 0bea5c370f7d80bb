#include "python/native_stack.h"

#include <pthread.h>

#include <cstdint>

namespace minidynamo {
namespace {

// The lowest address of the thread's stack; 0 if it cannot be told.
uintptr_t find_end() noexcept {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return 0;
  void* lowest = nullptr;
  size_t size = 0;
  const bool ok = pthread_attr_getstack(&attributes, &lowest, &size) == 0;
  pthread_attr_destroy(&attributes);
  return ok ? reinterpret_cast<uintptr_t>(lowest) : 0;
}

}  // namespace

size_t native_stack_left() noexcept {
  static thread_local const uintptr_t end = find_end();
  const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  return here > end ? here - end : 0;
}

}  // namespace minidynamo
