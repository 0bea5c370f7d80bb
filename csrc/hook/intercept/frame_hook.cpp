#include "hook/intercept/frame_hook.h"

#include "hook/intercept/hook_chain.h"
#include "hook/intercept/hook_installed.h"
#include "hook/intercept/policy.h"
#include "hook/intercept/stance.h"
#include "hook/run/interrupted_part.h"
#include "hook/run/precompilation.h"
#include "hook/run/run_entry.h"
#include "library/rules/user_rules.h"
#include "model/objects/function.h"
#include "model/objects/plain_classes.h"
#include "python/code/code_object.h"
#include "python/native_scope.h"
#include "python/process/audit_hooks.h"
#include "python/process/native_stack.h"
#include "python/process/out_of_memory.h"
#include "python/version/eval_frame.h"
#include "world/native/code_origin.h"

namespace minidynamo {
namespace {

// A frame that CPython has given to the hook, to be run or to be answered for.
struct GivenFrame {
  PyThreadState* thread;
  _PyInterpreterFrame* raw;
  int throw_flag;
  bool has_run = false;

  PyObject* pass() noexcept { return pass_with(throw_flag); }
  // Runs it with the current Python error raised at its start, unless a RecursionError would take its place.
  PyObject* pass_with_error() noexcept {
    return frames_left(thread) > 0 && stand_at_resume(raw) ? pass_with(1) : nullptr;
  }

 private:
  PyObject* pass_with(int flag) noexcept {
    has_run = true;
    return hook_chain().pass(thread, raw, flag);
  }
};

// That wrapper imports all of TorchDynamo to keep it out of the kernel. There is nothing to keep out here: the kernel
// is called directly. Null Ref without a Python error: the frame is something else.
Ref run_unwrapped_meta_kernel(const InterpreterFrame& frame) {
  if (as_object(frame.code) != meta_kernel_wrapper() || !frame.is_call) return nullptr;
  Ref names = Ref::steal(PyCode_GetFreevars(frame.code));
  PyObject* closure = PyFunction_GET_CLOSURE(frame.function);
  for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names.get()); ++i)
    if (!PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names.get(), i), "fn"))
      return Ref::steal(PyObject_Call(PyCell_GET(PyTuple_GET_ITEM(closure, i)), frame.locals[0], frame.locals[1]));
  return nullptr;
}

// C code of torch's is about to run a method that a program's own class of tensors has in the place of torch's.
bool is_method_of_program(const InterpreterFrame& frame) {
  return frame.is_call && frame.code->co_argcount > 0 && frame.locals[0] && has_class_of_program(frame.locals[0]) &&
         code_origin(frame.code->co_filename) == CodeOrigin::User;
}

PyObject* refuse_method(Tracer& tracer, const InterpreterFrame& frame) {
  const std::string name = PyUnicode_AsUTF8(frame.code->co_qualname);
  PyErr_SetString(PyExc_RuntimeError, "minidynamo: a method of the program's is called by torch");
  return tracer.abort(BreakReason::UnsupportedTensor, "torch calls " + name), nullptr;
}

// A Python frame that C code called in the middle of a trace.
PyObject* traced_callback(Tracer& tracer, const InterpreterFrame& frame) {
  return run_called_from_c(tracer, frame.function, frame.locals).release();
}

// Code of the program's that torch calls while operators are recorded one by one, and that the trace knows: the
// backward of an autograd.Function within a transform. Registered rules of custom operators are run as they are.
bool is_step_of_program(const Tracer& tracer, const InterpreterFrame& frame) {
  return is_recording_operators() && !fake_kernel_running() && frame.is_call && is_program_code(frame.code) &&
         tracer.world.source_of(frame.function);
}

// The same, or in what the frame goes on with. A trace may have called deeper than the recursion limit lets its frames.
PyObject* pass_with_error(GivenFrame& given, const InterpreterFrame& frame) {
  return frames_left(given.thread) > 1 && hand_error_down(frame) ? given.pass() : given.pass_with_error();
}

// Runs the frame, or returns what it is to return.
PyObject* answer_frame(GivenFrame& given) {
  if (!is_hook_wanted()) {  // another hook, which is gone now, had kept ours
    hook_chain().leave_if_alone();
    return given.pass();
  }
  if (Tracer* tracer = Tracer::current()) {
    if (given.throw_flag) return given.pass();
    const InterpreterFrame frame = inspect_frame(given.raw);
    if (is_native() || fake_kernel_running()) {
      if (is_method_of_program(frame)) return refuse_method(*tracer, frame);
      if (is_step_of_program(*tracer, frame)) {
        const NativeScopeApart traced;
        return traced_callback(*tracer, frame);
      }
      if (Ref result = run_unwrapped_meta_kernel(frame)) return result.release();
      return PyErr_Occurred() ? nullptr : given.pass();
    }
    if (!frame.is_call) return given.pass();
    if (is_audit_hook(frame.function))
        [[unlikely]] {  // it listens to the interpreter, and is none of the program's code
      const NativeScope nothing_of_it_is_traced;
      return given.pass();
    }
    return traced_callback(*tracer, frame);
  }
  if (is_error_awaited() && !given.throw_flag) [[unlikely]]
    if (const InterpreterFrame frame = inspect_frame(given.raw); raise_if_awaited(frame)) {
      note_start(frame);
      return pass_with_error(given, frame);
    }
  PyObject* config = thread_mode().config;
  if (!config && captures_globally) config = runtime().global_config.get();
  if (!config || given.throw_flag || thread_mode().disabled || must_run_plainly(given.thread) ||
      torch_compiles_here(given.thread))
    return given.pass();
  const Stance stance = current_stance();
  if (stance == Stance::ForceEager || stance == Stance::Unknown) [[unlikely]]
    return given.pass();
  const InterpreterFrame frame = inspect_frame(given.raw);
  note_start(frame);
  if (frame.code->co_flags & kGeneratedCode) return given.pass();
  if (Ref aside = defer_resume(frame)) return aside.release();
  const bool is_only_compiled = frame.is_call && Precompilation::awaits(frame.code);
  if (frame.is_call && (runs_disabled(frame.function) || makes_module(frame, config))) {
    if (is_only_compiled) return Precompilation::decline().release();
    ModeScope nothing(kCaptureNothing);
    return given.pass();
  }
  FrameAnswer answer = FrameAnswer::Plain;
  Ref result;
  {
    const ThreadMode mode = thread_mode();
    ModeScope own_work({nullptr, mode.target, true});  // looking into it may run Python code
    const bool is_target = frame.code == mode.target;
    if (is_target || should_capture(frame, config)) {
      const Ref chosen = stance == Stance::ForcedBackend ? config_with_forced_backend(config) : Ref::borrow(config);
      if (!chosen) return nullptr;
      const FrameView view{frame.function, frame.locals};
      if (is_only_compiled) return Precompilation::answer(view, chosen.get()).release();
      result = run_captured(frame.code, view, chosen.get(), answer);
    } else {
      clear_error();
    }
  }
  if (answer == FrameAnswer::Entry || answer == FrameAnswer::Raise) return result.release();
  if (answer == FrameAnswer::Throw) return pass_with_error(given, frame);
  if (answer == FrameAnswer::Apart) {
    ModeScope nothing(kCaptureNothing);
    return given.pass();
  }
  if (frame.code == thread_mode().target)
    thread_mode().target = nullptr;  // a recursive call of it is an ordinary frame
  return given.pass();
}

// Where there is no memory for another stack either. Too little for a capture may be enough for the frame.
PyObject* answer_without_stack(GivenFrame& given) {
  constexpr size_t kStackForFrame = 64 * 1024;
  if (native_stack_left() < kStackForFrame) return PyErr_NoMemory();
  return Tracer::current() ? answer_frame(given) : given.pass();
}

// True if no capture is at work on this thread, and none may begin at this frame.
bool lets_all_pass() noexcept {
  return !captures_globally && !thread_mode().config && !Tracer::current() && !is_error_awaited() && is_hook_wanted();
}

// The one function that CPython calls for a frame. Its level of the C stack stays until the frame has run.
PyObject* frame_hook(PyThreadState* thread, _PyInterpreterFrame* raw, int throw_flag) noexcept {
  GivenFrame given{thread, raw, throw_flag};
  PyObject* result = nullptr;
  auto work = [&]() noexcept { result = entry<answer_frame>(given); };
  if (lets_all_pass())
    result = given.pass();
  else if (native_stack_left() >= kStackForCapture) [[likely]]
    work();
  else if (!run_on_another_stack(work))
    result = entry<answer_without_stack>(given);
  // An exception that is raised without memory may be lost on its way to a handler: CPython 3.11 then says SystemError.
  if (!result && !PyErr_Occurred()) [[unlikely]]
    PyErr_NoMemory();
  return given.has_run ? result : end_frame(thread, raw, Ref::steal(result));
}

}  // namespace

EvalFrame our_frame_hook() noexcept { return frame_hook; }

}  // namespace minidynamo
