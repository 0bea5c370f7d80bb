#include "python/version/eval_frame.h"

#include <opcode.h>

#include "python/code/code_object.h"

#define Py_BUILD_CORE
#undef HAVE_STD_ATOMIC
#include <internal/pycore_frame.h>
#include <internal/pycore_interp.h>
#include <internal/pycore_pystate.h>
#undef Py_BUILD_CORE

namespace minidynamo {

namespace {

// The frame is making a call, and its next instruction returns the result.
bool returns_next(const _PyInterpreterFrame* frame) noexcept {
  constexpr int kCallCaches = 4;
  const _Py_CODEUNIT* call = frame->prev_instr;
  return base_opcode(_Py_OPCODE(*call)) == CALL && _Py_OPCODE(call[1 + kCallCaches]) == RETURN_VALUE;
}

}  // namespace

InterpreterFrame inspect_frame(_PyInterpreterFrame* frame) noexcept {
  PyCodeObject* code = frame->f_code;
  const _PyInterpreterFrame* caller = _PyThreadState_GET()->cframe->current_frame;  // frame->previous is set later
  const bool at_start = frame->prev_instr == _PyCode_CODE(code) - 1;
  const bool is_function = (code->co_flags & (CO_OPTIMIZED | CO_NEWLOCALS)) == (CO_OPTIMIZED | CO_NEWLOCALS);
  return {as_object(frame->f_func),
          code,
          frame->localsplus,
          caller ? caller->f_code : nullptr,
          caller && returns_next(caller),
          at_start && is_function && frame->owner == FRAME_OWNED_BY_THREAD && frame->f_func};
}

SuspendedAt suspended_at(PyObject* generator) noexcept {
  auto* const object = reinterpret_cast<PyGenObject*>(generator);
  if (object->gi_frame_state != FRAME_SUSPENDED) return {};
  const auto* frame = reinterpret_cast<const _PyInterpreterFrame*>(object->gi_iframe);
  const auto units = frame->prev_instr - _PyCode_CODE(frame->f_code);
  return {frame->f_code, static_cast<int32_t>(units * static_cast<ptrdiff_t>(sizeof(_Py_CODEUNIT)))};
}

bool must_run_plainly(PyThreadState* thread) noexcept { return thread->cframe->use_tracing || _Py_IsFinalizing(); }

bool stand_at_resume(_PyInterpreterFrame* frame) noexcept {
  _Py_CODEUNIT* const first = _PyCode_CODE(frame->f_code);
  if (base_opcode(_Py_OPCODE(*first)) != RESUME) return false;
  frame->prev_instr = first;
  return true;
}

// The caller of the hook ends the frame.
PyObject* end_frame(PyThreadState*, _PyInterpreterFrame*, Ref result) noexcept { return result.release(); }

}  // namespace minidynamo
