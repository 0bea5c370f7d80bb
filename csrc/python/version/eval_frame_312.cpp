#define Py_BUILD_CORE 1
#include "python/version/eval_frame.h"

#include <opcode.h>

#undef HAVE_STD_ATOMIC
#include <internal/pycore_frame.h>
#include <internal/pycore_interp.h>
#include <internal/pycore_pystate.h>

#include "python/code/code_object.h"
#include "python/error_set_aside.h"
#include "python/version/monitoring_tools.h"

namespace minidynamo {

static_assert(PY_VERSION_HEX >= 0x030C0000 && PY_VERSION_HEX < 0x030D0000);

namespace {

// The frame is making a call, and its next instruction returns the result.
bool returns_next(const _PyInterpreterFrame* frame) noexcept {
  constexpr int kCallCaches = 3;
  const _Py_CODEUNIT* call = frame->prev_instr;
  return base_opcode(call->op.code) == CALL && base_opcode(call[1 + kCallCaches].op.code) == RETURN_VALUE;
}

}  // namespace

InterpreterFrame inspect_frame(_PyInterpreterFrame* frame) noexcept {
  PyCodeObject* code = frame->f_code;
  const _PyInterpreterFrame* caller =
      _PyThreadState_UncheckedGet()->cframe->current_frame;  // frame->previous is set later
  const bool at_start = frame->prev_instr == _PyCode_CODE(code) - 1;
  const bool is_function = (code->co_flags & (CO_OPTIMIZED | CO_NEWLOCALS)) == (CO_OPTIMIZED | CO_NEWLOCALS);
  return {frame->f_funcobj,
          code,
          frame->localsplus,
          caller ? caller->f_code : nullptr,
          caller && returns_next(caller),
          at_start && is_function && frame->owner == FRAME_OWNED_BY_THREAD && frame->f_funcobj &&
              PyFunction_Check(frame->f_funcobj)};
}

SuspendedAt suspended_at(PyObject* generator) noexcept {
  auto* const object = reinterpret_cast<PyGenObject*>(generator);
  if (object->gi_frame_state != FRAME_SUSPENDED) return {};
  const auto* frame = reinterpret_cast<const _PyInterpreterFrame*>(object->gi_iframe);
  const auto units = frame->prev_instr - _PyCode_CODE(frame->f_code);
  return {frame->f_code, static_cast<int32_t>(units * static_cast<ptrdiff_t>(sizeof(_Py_CODEUNIT)))};
}

bool must_run_plainly(PyThreadState* thread) noexcept {
  return thread->c_tracefunc || thread->c_profilefunc ||
         is_monitored(thread->interp, thread->interp->monitoring_version) || _Py_IsFinalizing();
}

bool stand_at_resume(_PyInterpreterFrame* frame) noexcept {
  _Py_CODEUNIT* const first = _PyCode_CODE(frame->f_code);
  if (base_opcode(first->op.code) != RESUME) return false;
  frame->prev_instr = first;
  return true;
}

// CPython 3.12 exports none of what ends a frame. The evaluator does it when the frame returns: so it is made to run a
// return, and nothing else. There is room for the result above the frame's own slots: CPython makes no frame that
// reaches the end of its memory.
PyObject* end_frame(PyThreadState* thread, _PyInterpreterFrame* frame, Ref result) noexcept {
  static _Py_CODEUNIT returns[] = {{.op = {NOP, 0}}, {.op = {RETURN_VALUE, 0}}};
  const bool is_error = !result;
  ErrorSetAside error;
  frame->prev_instr = returns;
  frame->localsplus[frame->stacktop++] = is_error ? Ref::none().release() : result.release();
  Ref returned;
  {
    const OneLevelMore for_the_return(thread);
    returned = Ref::steal(evaluate_by_default(thread, frame, 0));
  }
  if (is_error && returned) return nullptr;
  error.drop();
  return returned.release();
}

}  // namespace minidynamo
