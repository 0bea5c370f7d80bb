#include "hook/frame_hook.h"

#include "hook/capture.h"
#include "hook/policy.h"
#include "python/eval_frame.h"
#include "trace/calls.h"

namespace minidynamo {
namespace {

int installed_count = 0;             // changed under the GIL
EvalFrame previous_hook = nullptr;   // what was there before ours

PyObject* pass(PyThreadState* thread, _PyInterpreterFrame* frame, int throw_flag) noexcept {
  return previous_hook ? previous_hook(thread, frame, throw_flag) : evaluate_by_default(thread, frame, throw_flag);
}

// A Python frame that C code called in the middle of a trace.
PyObject* traced_callback(Tracer& tracer, const InterpreterFrame& frame) noexcept {
  return run_called_from_c(tracer, frame.function, frame.locals).release();
}

PyObject* frame_hook(PyThreadState* thread, _PyInterpreterFrame* raw, int throw_flag) noexcept {
  Tracer* tracer = Tracer::current();
  if (tracer) {
    if (tracer->native() || fake_kernel_running() || throw_flag) return pass(thread, raw, throw_flag);
    const InterpreterFrame frame = look_at(raw);
    return frame.is_call ? traced_callback(*tracer, frame) : pass(thread, raw, throw_flag);
  }
  PyObject* config = thread_mode().config;
  if (!config && runtime().global_config) config = runtime().global_config.get();
  if (!config || throw_flag || thread_mode().disabled) return pass(thread, raw, throw_flag);
  const InterpreterFrame frame = look_at(raw);
  bool captured = false;
  Ref result;
  {
    const ThreadMode mode = thread_mode();
    ModeScope own_work(kCaptureNothing);  // looking into it may run Python code
    const bool is_target = frame.code == mode.target;
    if (is_target || should_capture(frame))
      result = run_captured(frame.code, FrameView{frame.function, frame.locals}, config, captured);
    else
      PyErr_Clear();
  }
  if (captured || PyErr_Occurred()) return result.release();
  if (frame.code == thread_mode().target) thread_mode().target = nullptr;  // a recursive call of it is an ordinary frame
  return pass(thread, raw, throw_flag);
}

}  // namespace

HookInstalled::HookInstalled() noexcept {
  if (installed_count++ == 0) {
    EvalFrame now = installed_eval_frame();
    previous_hook = now == frame_hook ? nullptr : now;
    install_eval_frame(frame_hook);
  }
}

HookInstalled::~HookInstalled() {
  if (--installed_count == 0 && installed_eval_frame() == frame_hook) install_eval_frame(previous_hook);
}

void set_global_capture(PyObject* config) {
  static HookInstalled* installed = nullptr;
  runtime().global_config = Ref::borrow(config);
  if (config && !installed) {
    installed = new HookInstalled;
  } else if (!config && installed) {
    delete std::exchange(installed, nullptr);
  }
}

}  // namespace minidynamo
