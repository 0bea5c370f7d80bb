// The fast locals of a frame, as CPython keeps them: bound parameters, then the other locals, cells and free variables.
#pragma once
#include <cstddef>
#include <cstdint>

#include "python/ref.h"

namespace minidynamo {

// Borrowed from the frame, or from an array of objects.
class FastLocals {
 public:
  FastLocals(PyObject* const* slots) noexcept : slots_(slots) {}

  // Null: unbound.
  PyObject* operator[](ptrdiff_t index) const noexcept {
#if PY_VERSION_HEX < 0x030E0000
    return slots_[index];
#else
    // A frame's have tags: whether the frame owns the object, and that there is none, or a number (the place of a
    // handler's error).
    constexpr uintptr_t kTags = 3, kNumber = 3;
    const auto bits = reinterpret_cast<uintptr_t>(slots_[index]);
    return (bits & kTags) == kNumber ? nullptr : reinterpret_cast<PyObject*>(bits & ~kTags);
#endif
  }
  explicit operator bool() const noexcept { return slots_ != nullptr; }

 private:
  PyObject* const* slots_;
};

}  // namespace minidynamo
