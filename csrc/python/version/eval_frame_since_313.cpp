#define Py_BUILD_CORE 1
#include "python/version/eval_frame.h"

#include <opcode.h>

#undef HAVE_STD_ATOMIC
#include <internal/pycore_ceval.h>
#include <internal/pycore_frame.h>
#include <internal/pycore_interp.h>
#include <internal/pycore_pystate.h>
#if PY_VERSION_HEX >= 0x030E0000
#include <internal/pycore_genobject.h>
#include <internal/pycore_interpframe.h>
#endif

#include "python/code/code_object.h"
#include "python/error_set_aside.h"
#include "python/version/monitoring_tools.h"

namespace minidynamo {

static_assert(PY_VERSION_HEX >= 0x030D0000 && PY_VERSION_HEX < 0x030F0000);

namespace {

// The fields of a frame. From 3.14 on they are references with tags.
#if PY_VERSION_HEX < 0x030E0000
PyObject* object_in(PyObject* field) noexcept { return field; }
const _PyInterpreterFrame* frame_of(const PyGenObject* generator) noexcept {
  return reinterpret_cast<const _PyInterpreterFrame*>(generator->gi_iframe);
}
constexpr int kKeywordCallCaches = 0;
#else
PyObject* object_in(_PyStackRef field) noexcept { return PyStackRef_AsPyObjectBorrow(field); }
const _PyInterpreterFrame* frame_of(const PyGenObject* generator) noexcept { return &generator->gi_iframe; }
constexpr int kKeywordCallCaches = 3;
#endif
constexpr int kCallCaches = 3;

// The code that a frame runs. Null: there is no frame, or it is one of C code, which has None in that place.
PyCodeObject* code_of(const _PyInterpreterFrame* frame) noexcept {
  PyObject* executable = frame ? object_in(frame->f_executable) : nullptr;
  return executable && PyCode_Check(executable) ? as_code(executable) : nullptr;
}

// The frame is making a call, and its next instruction returns the result.
bool returns_next(const _PyInterpreterFrame* frame) noexcept {
  const _Py_CODEUNIT* call = frame->instr_ptr;
  const uint8_t made_by = base_opcode(call->op.code);
  if (made_by != CALL && made_by != CALL_KW) return false;
  return base_opcode(call[1 + (made_by == CALL ? kCallCaches : kKeywordCallCaches)].op.code) == RETURN_VALUE;
}

}  // namespace

InterpreterFrame inspect_frame(_PyInterpreterFrame* frame) noexcept {
  PyCodeObject* code = code_of(frame);
  const _PyInterpreterFrame* caller = PyThreadState_GetUnchecked()->current_frame;  // frame->previous is set later
  PyCodeObject* caller_code = code_of(caller);
  const bool at_start = frame->instr_ptr == _PyCode_CODE(code);
  const bool is_function = (code->co_flags & (CO_OPTIMIZED | CO_NEWLOCALS)) == (CO_OPTIMIZED | CO_NEWLOCALS);
  PyObject* function = object_in(frame->f_funcobj);
  static_assert(sizeof frame->localsplus[0] == sizeof(PyObject*));
  return {function,
          code,
          reinterpret_cast<PyObject* const*>(frame->localsplus),
          caller_code,
          caller_code && returns_next(caller),
          at_start && is_function && frame->owner == FRAME_OWNED_BY_THREAD && function && PyFunction_Check(function)};
}

// A suspended frame points behind the instruction that gave the last item.
SuspendedAt suspended_at(PyObject* generator) noexcept {
  auto* const object = reinterpret_cast<PyGenObject*>(generator);
  if (!FRAME_STATE_SUSPENDED(object->gi_frame_state)) return {};
  const _PyInterpreterFrame* frame = frame_of(object);
  PyCodeObject* code = code_of(frame);
  const auto units = frame->instr_ptr - 1 - _PyCode_CODE(code);
  return {code, static_cast<int32_t>(units * static_cast<ptrdiff_t>(sizeof(_Py_CODEUNIT)))};
}

bool must_run_plainly(PyThreadState* thread) noexcept {
  return thread->c_tracefunc || thread->c_profilefunc ||
         is_monitored(thread->interp, thread->interp->ceval.instrumentation_version) || Py_IsFinalizing();
}

bool stand_at_resume(_PyInterpreterFrame* frame) noexcept {
  _Py_CODEUNIT* first = _PyCode_CODE(code_of(frame));
  if (base_opcode(first->op.code) != RESUME) return false;
  frame->instr_ptr = first + 1;  // a frame that goes on with an error looks for the handler of the code unit before
  return true;
}

PyObject* end_frame(PyThreadState* thread, _PyInterpreterFrame* frame, Ref result) noexcept {
  const ErrorSetAside error;
  _PyEval_FrameClearAndPop(thread, frame);
  return result.release();
}

}  // namespace minidynamo
