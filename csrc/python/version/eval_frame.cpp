// The parts that are the same in every CPython; eval_frame_311.cpp and its like have the rest.
#define Py_BUILD_CORE 1
#include "python/version/eval_frame.h"

#undef HAVE_STD_ATOMIC
#include <internal/pycore_interp.h>

namespace minidynamo {

EvalFrame installed_eval_frame() noexcept { return _PyInterpreterState_GetEvalFrameFunc(PyInterpreterState_Get()); }

void install_eval_frame(EvalFrame eval_frame) noexcept {
  _PyInterpreterState_SetEvalFrameFunc(PyInterpreterState_Get(), eval_frame ? eval_frame : _PyEval_EvalFrameDefault);
}

EvalFrame evaluate_frame_of_cpython() noexcept { return _PyEval_EvalFrameDefault; }

EvalFrame hook_of(PyThreadState* thread) noexcept { return thread->interp->eval_frame; }

int& frames_left(PyThreadState* thread) noexcept {
#if PY_VERSION_HEX < 0x030C0000
  return thread->recursion_remaining;
#else
  return thread->py_recursion_remaining;
#endif
}

// CPython 3.12 and 3.13 count how often the evaluator is entered from C, against a limit of their own (1,500 in 3.12,
// 10,000 in 3.13), whatever sys.setrecursionlimit() says. (Later ones look at the C stack itself:
// python/process/native_stack.cpp.) Without a hook, a call of a Python function does not enter it again, so what enters
// it for the hook is not counted.
PyObject* evaluate_by_default(PyThreadState* thread, _PyInterpreterFrame* frame, int throw_flag) noexcept {
#if PY_VERSION_HEX < 0x030C0000 || PY_VERSION_HEX >= 0x030E0000
  return _PyEval_EvalFrameDefault(thread, frame, throw_flag);
#else
  constexpr int kUnits = 2;  // PY_EVAL_C_STACK_UNITS in Python/ceval.c
  thread->c_recursion_remaining += kUnits;
  PyObject* result = _PyEval_EvalFrameDefault(thread, frame, throw_flag);
  thread->c_recursion_remaining -= kUnits;
  return result;
#endif
}

}  // namespace minidynamo
