// A long capture says in the log what it is at: a program that seems to hang unrolls a loop, most often.
#pragma once
#include <chrono>

#include "python/ref.h"
#include "world/state/tracer.h"

namespace minidynamo {

class Progress {
 public:
  // For a capture that begins now. `config` says how often to report (progress_interval).
  Progress(PyCodeObject* code, PyObject* config);
  // Called by traces of the capture, between two instructions.
  void look(const Tracer& tracer);

 private:
  using Clock = std::chrono::steady_clock;
  PyCodeObject* code_;
  Clock::time_point begun_ = Clock::now(), said_ = begun_;
  std::chrono::duration<double> interval_{0};
  bool is_quiet_ = false;
};

}  // namespace minidynamo
