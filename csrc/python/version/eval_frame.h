// PEP 523: CPython's frame-evaluation hook and the interpreter frames that it is given.
#pragma once
#include "python/ref.h"
#include "python/version/fast_locals.h"

struct _PyInterpreterFrame;

namespace minidynamo {

using EvalFrame = PyObject* (*)(PyThreadState*, _PyInterpreterFrame*, int);

// The parts of a frame that the hook needs; all borrowed from it.
struct InterpreterFrame {
  PyObject* function;  // the function object whose code it runs
  PyCodeObject* code;
  FastLocals locals;          // bound parameters, nulls for the rest; cells and free variables are not set up yet
  PyCodeObject* caller_code;  // null at the bottom of the stack
  bool is_tail_call;          // the caller returns its result, at once
  bool is_call;  // a function's frame before its first instruction: not a resumed generator, module or class body
};
InterpreterFrame inspect_frame(_PyInterpreterFrame* frame) noexcept;

// Where a generator is suspended. Without code: it has not begun, is running, or is over.
struct SuspendedAt {
  PyCodeObject* code = nullptr;  // borrowed
  int32_t offset = -1;           // offset of the instruction that yielded the last item, in bytes
};
SuspendedAt suspended_at(PyObject* generator) noexcept;

EvalFrame installed_eval_frame() noexcept;
void install_eval_frame(EvalFrame eval_frame) noexcept;  // null: CPython's own
EvalFrame evaluate_frame_of_cpython() noexcept;
// The installed hook; null where none is. A load.
EvalFrame hook_of(PyThreadState* thread) noexcept;
// True if nothing is to be captured on the thread now: sys.settrace, sys.setprofile or a tool of sys.monitoring is at
// work (a debugger, a coverage tool, a profiler), or the interpreter is going down.
bool must_run_plainly(PyThreadState* thread) noexcept;
// How many Python frames may begin inside the ones that run, until sys.getrecursionlimit() is reached.
int& frames_left(PyThreadState* thread) noexcept;
// While one lives, the thread may call one level deeper than that: for a call that is none of the program's.
class OneLevelMore {
 public:
  explicit OneLevelMore(PyThreadState* thread) noexcept : thread_(thread) { ++frames_left(thread); }
  ~OneLevelMore() { --frames_left(thread_); }
  OneLevelMore(const OneLevelMore&) = delete;
  OneLevelMore& operator=(const OneLevelMore&) = delete;

 private:
  PyThreadState* thread_;
};
// Sets a function's frame that has not begun to its RESUME, where CPython looks for signals, so that a throw flag
// raises the current Python error there. False: its code does not begin with one.
bool stand_at_resume(_PyInterpreterFrame* frame) noexcept;
// Ends a frame that was given to the hook and has not run, with a result, or with the Python error that is set where it
// is null. Returns what the hook is to return.
PyObject* end_frame(PyThreadState* thread, _PyInterpreterFrame* frame, Ref result) noexcept;
// Runs the frame as CPython does without any hook.
PyObject* evaluate_by_default(PyThreadState* thread, _PyInterpreterFrame* frame, int throw_flag) noexcept;

}  // namespace minidynamo
