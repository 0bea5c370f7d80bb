// Capturing a call without making it (OptimizedFunction.precompile): the frame that the hook meets is looked up or
// captured, as for a call, and neither its entry nor the frame runs.
#pragma once
#include <utility>

#include "hook/run/find_entry.h"

namespace minidynamo {

// While there is one on this thread, the first frame of its code object is answered so, and returns None.
class Precompilation {
 public:
  explicit Precompilation(PyCodeObject* target) noexcept : target_(target), outer_(std::exchange(current(), this)) {}
  ~Precompilation() { current() = outer_; }
  Precompilation(const Precompilation&) = delete;

  static bool awaits(const PyCodeObject* code) noexcept { return current() && current()->target_ == code; }
  // None, or a null Ref with the error that the call would have raised.
  static Ref answer(const FrameView& view, PyObject* config);
  // The answer for a frame that would run uncaptured.
  static Ref decline() noexcept;

  // True if a call would run one entry from its beginning to its end.
  bool is_whole() const noexcept { return is_whole_; }

 private:
  PyCodeObject* target_;  // null: answered
  Precompilation* const outer_;
  bool is_whole_ = false;
  static Precompilation*& current() noexcept;
};

}  // namespace minidynamo
