// The exception that was being handled when the innermost trace of this thread began.
#pragma once
#include "python/ref.h"

namespace minidynamo {

// While one lives, a trace runs on this thread that began while this exception was being handled (borrowed; null or
// None: there was none).
class HandledBefore {
 public:
  explicit HandledBefore(PyObject* exception) noexcept;
  ~HandledBefore();
  HandledBefore(const HandledBefore&) = delete;

 private:
  PyObject* outer_;
};
// True if an exception is the one that the innermost trace found being handled.
bool was_handled_before(PyObject* exception) noexcept;
bool was_nothing_handled_before() noexcept;

}  // namespace minidynamo
