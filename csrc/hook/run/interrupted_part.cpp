#include "hook/run/interrupted_part.h"

#include <algorithm>

#include "bytecode/instruction.h"
#include "emit/resume.h"
#include "python/error_text.h"
#include "python/process/interruptions.h"

namespace minidynamo {
namespace {

struct AwaitedError {
  PyObject* function = nullptr;  // borrowed; only compared
  Ref error;
};
thread_local AwaitedError awaited;

void raise_awaited() noexcept {
  interrupted_part_details::is_awaited = false;
  set_error(std::exchange(awaited.error, nullptr));
}

// The function that a resume function calls first, where it stands in a call: the resume function of the frame that its
// original had called. Null: it stands in no call.
PyObject* called_at_start(const InterpreterFrame& frame) {
  const ResumeFunction* resume = find_resume_function(frame.code);
  if (!resume || resume->place.kind != ResumePlace::Kind::InCall) return nullptr;
  const auto callee = std::ranges::find(resume->parameters, ResumeParameter::Kind::Callee, &ResumeParameter::kind);
  const auto index = callee - resume->parameters.begin();
  return resume->place.is_callee ? PyList_GET_ITEM(frame.locals[0], index) : frame.locals[index];
}

}  // namespace

int32_t graph_call_offset(PyCodeObject* residual) {
  for (const Instruction& now : decode(residual).instructions)
    if (now.op == Op::CALL_FUNCTION_EX) return now.offset;
  return -1;
}

bool is_interruption_at_start(const CacheEntry& entry, PyObject* function) {
  if (!entry.compiled || !find_resume_function(as_code(PyFunction_GET_CODE(function)))) return false;
  Ref error = take_error();
  const Ref traceback = Ref::steal(PyException_GetTraceback(error.get()));
  auto* const outermost = traceback ? reinterpret_cast<PyTracebackObject*>(traceback.get()) : nullptr;
  const Ref code = outermost ? Ref::steal(as_object(PyFrame_GetCode(outermost->tb_frame))) : Ref();
  PyCodeObject* const residual = entry.residual_function.code();
  const bool is_at_start = code.is(as_object(residual)) && outermost->tb_lasti <= graph_call_offset(residual);
  // An error of a graph that cannot be run again may be the program's own, of a line that the handler is not for.
  const bool may_be_own = !entry.may_run_again && PyErr_GivenExceptionMatches(error.get(), PyExc_Exception);
  const bool is_for_start = is_at_start && !may_be_own;
  PyObject* const inner = is_for_start ? as_object(outermost->tb_next) : nullptr;
  if (is_for_start) PyException_SetTraceback(error.get(), inner ? inner : Py_None);
  set_error(std::move(error));
  return is_for_start;
}

bool is_interruption_of_capture(PyCodeObject* code) {
  return find_resume_function(code) && (is_error_delivered() || !PyErr_ExceptionMatches(PyExc_Exception));
}

void await_error(PyObject* function, Ref error) noexcept {
  awaited = {function, std::move(error)};
  interrupted_part_details::is_awaited = static_cast<bool>(awaited.error);
}

bool end_await() noexcept {
  if (!awaited.error) return true;
  return raise_awaited(), false;
}

bool raise_if_awaited(const InterpreterFrame& frame) {
  if (!frame.is_call || frame.function != awaited.function) return false;
  return raise_awaited(), true;
}

bool hand_error_down(const InterpreterFrame& frame) {
  PyObject* callee = called_at_start(frame);
  if (callee) await_error(callee, take_error());
  return callee != nullptr;
}

}  // namespace minidynamo
