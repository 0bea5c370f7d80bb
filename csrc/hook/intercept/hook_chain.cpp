#include "hook/intercept/hook_chain.h"

#include <utility>

#include "hook/intercept/torch_compile.h"

namespace minidynamo {

void HookChain::install_alone() noexcept {
  next_ = above_ = nullptr;
  install_eval_frame(ours_);
}

void HookChain::join() noexcept {
  const EvalFrame installed = installed_eval_frame();
  if (installed == ours_ || (above_ && installed == above_)) return;
  if (installed == evaluate_frame_of_cpython()) return install_alone();
  // Not on top of it: torch's, when it leaves, puts back what was there before it, and ours would be lost in the middle
  // of a trace.
  EvalFrame next = nullptr;
  above_ = install_behind_torch(ours_, next) ? installed : nullptr;
  next_ = next;
}

void HookChain::leave() noexcept {
  const EvalFrame installed = installed_eval_frame();
  above_ = nullptr;
  if (installed == ours_) {
    install_eval_frame(std::exchange(next_, nullptr));
  } else if (installed != evaluate_frame_of_cpython()) {
    above_ = installed;  // it was installed while ours was
  }
}

void HookChain::leave_if_alone() noexcept {
  if (installed_eval_frame() == ours_) leave();
}

PyObject* HookChain::pass(PyThreadState* thread, _PyInterpreterFrame* frame, int throw_flag) const noexcept {
  if (!next_) return evaluate_by_default(thread, frame, throw_flag);
  // The next one may call ours again, if it was installed in its turn while ours was there.
  thread_local const _PyInterpreterFrame* passing = nullptr;
  if (passing == frame) return evaluate_by_default(thread, frame, throw_flag);
  const _PyInterpreterFrame* outer = std::exchange(passing, frame);
  PyObject* result = next_(thread, frame, throw_flag);
  passing = outer;
  return result;
}

HookChain& hook_chain() noexcept {
  static constinit HookChain chain;
  return chain;
}

bool is_other_hook_installed(PyThreadState* thread) noexcept {
  const EvalFrame hook = hook_of(thread);
  return hook && hook != hook_chain().ours();
}

bool torch_compiles_here(PyThreadState* thread) noexcept {
  return is_other_hook_installed(thread) && torch_is_at_work();
}

}  // namespace minidynamo
