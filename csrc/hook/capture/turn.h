// An activity that one thread does at a time while others wait for it: the capture of a code object, the work of a
// backend.
//
// A waiting thread does not hold the GIL, is woken by signals, and does not wait for ever: a backend may start threads
// of its own that call captured functions, and wait for them, which cannot be detected here. Then the call runs
// uncaptured, which is always right. A thread that captures never waits for another capture (a function that a capture
// calls runs plainly), so turns are taken in one order: a capture, torch's compile lock, the backend.
//
// Everything here needs the GIL. A child of a fork has one thread: turns of threads that it does not have are free.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <vector>

#include "cache/code_cache.h"
#include "python/ref.h"

namespace minidynamo {

class Turns;

// Something that one thread at a time does.
class Activity {
 public:
  bool is_free() const noexcept;
  bool is_mine() const noexcept;

 private:
  friend class Turns;
  unsigned long thread_ = 0;
  pid_t process_ = 0;
  int depth_ = 0;  // 0: no thread does it
  std::vector<PyThread_type_lock> waiting_;
};

// How long this thread is ready to wait from now on, over several waits.
using Deadline = std::chrono::steady_clock::time_point;
Deadline capture_deadline(PyObject* config);

enum class Turn : uint8_t {
  Mine,   // until the scope ends
  Over,   // somebody else's has ended: look again at what it left
  Never,  // it would be waited for in vain
  Error,  // a Python error is set: a signal handler raised
};

// The capture of a code object under a configuration.
class CaptureTurn {
 public:
  CaptureTurn(PyCodeObject* code, ConfigId config) noexcept;
  ~CaptureTurn();
  CaptureTurn(const CaptureTurn&) = delete;
  Turn take(Deadline deadline);

 private:
  Ref code_;
  ConfigId config_;
  std::shared_ptr<Activity> activity_;  // mine; null: not yet
};

// The work of a backend, and what torch.compile does under its lock.
class BackendTurn {
 public:
  BackendTurn() noexcept = default;
  ~BackendTurn();
  BackendTurn(const BackendTurn&) = delete;
  Turn take(Deadline deadline);  // never Over

 private:
  bool is_mine_ = false;
  Ref torch_lock_;  // held
};

}  // namespace minidynamo
