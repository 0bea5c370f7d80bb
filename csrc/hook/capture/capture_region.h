// `with minidynamo.optimize(...)`: functions that the block calls on this thread are captured, as those are that
// residual code calls.
#pragma once
#include <memory>

#include "hook/intercept/hook_installed.h"
#include "hook/runtime.h"
#include "python/ref.h"

namespace minidynamo {

class CaptureRegion {
 public:
  explicit CaptureRegion(PyObject* config)
      : config_(Ref::borrow(config)),
        before_(thread_mode()),
        thread_(PyThread_get_thread_ident()),
        hook_(std::make_unique<HookInstalled>()) {
    thread_mode() = {config_.get(), nullptr, before_.disabled};
  }
  // False: it was not entered on this thread.
  bool leave() noexcept {
    if (PyThread_get_thread_ident() != thread_) return false;
    if (hook_) thread_mode() = before_;
    hook_.reset();
    return true;
  }
  // Dropped in the middle, and on another thread: the mode of its own goes on to name the configuration.
  ~CaptureRegion() {
    if (leave()) return;
    (void)config_.release();
    (void)hook_.release();
  }
  CaptureRegion(const CaptureRegion&) = delete;

 private:
  Ref config_;
  ThreadMode before_;
  unsigned long thread_;
  std::unique_ptr<HookInstalled> hook_;  // null: left
};

}  // namespace minidynamo
