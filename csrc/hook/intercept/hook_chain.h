// Our place among the frame hooks of a process. CPython knows one; whoever installs one calls the one that was there
// before. Others come and go in any order (torch.compile's whenever some thread begins or stops to use it), so that
// "before" is a thing of the moment.
//
// What holds whatever they do: after `join` every new frame reaches ours until `leave`, a hook that took itself out
// does not take ours along, and no frame goes round in a circle.
#pragma once
#include "python/version/eval_frame.h"

namespace minidynamo {

class HookChain {
 public:
  // Before anything else: what ours is.
  void set_ours(EvalFrame ours) noexcept { ours_ = ours; }
  EvalFrame ours() const noexcept { return ours_; }

  void join() noexcept;
  // Where another hook calls ours, ours stays where it is, and leaves when the other one has gone (`leave_if_alone`).
  void leave() noexcept;
  void leave_if_alone() noexcept;

  PyObject* pass(PyThreadState* thread, _PyInterpreterFrame* frame, int throw_flag) const noexcept;

 private:
  EvalFrame ours_ = nullptr;
  EvalFrame next_ = nullptr;   // for the frames that ours lets pass; null: CPython's own
  EvalFrame above_ = nullptr;  // the installed hook, known to call ours

  void install_alone() noexcept;
};

// True if the installed hook is neither ours nor CPython's own.
bool is_other_hook_installed(PyThreadState* thread) noexcept;

// True if a frame that starts now on this thread is torch.compile's to look at. A few instructions while it is not
// used anywhere in the process.
bool torch_compiles_here(PyThreadState* thread) noexcept;

HookChain& hook_chain() noexcept;

}  // namespace minidynamo
