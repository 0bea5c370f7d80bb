// What is the same in every CPython; eval_frame_311.cpp and its like have the rest.
#define Py_BUILD_CORE 1
#include "python/eval_frame.h"

#undef HAVE_STD_ATOMIC
#include <internal/pycore_interp.h>

namespace minidynamo {

EvalFrame installed_eval_frame() noexcept { return _PyInterpreterState_GetEvalFrameFunc(PyInterpreterState_Get()); }

void install_eval_frame(EvalFrame eval_frame) noexcept {
  _PyInterpreterState_SetEvalFrameFunc(PyInterpreterState_Get(), eval_frame ? eval_frame : _PyEval_EvalFrameDefault);
}

EvalFrame evaluate_frame_of_cpython() noexcept { return _PyEval_EvalFrameDefault; }

EvalFrame hook_of(PyThreadState* thread) noexcept { return thread->interp->eval_frame; }

}  // namespace minidynamo
