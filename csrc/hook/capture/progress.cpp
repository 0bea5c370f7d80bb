#include "hook/capture/progress.h"

#include "emit/resume.h"
#include "hook/runtime.h"
#include "hook/settings.h"
#include "python/native_scope.h"
#include "python/process/interruptions.h"
#include "python/process/out_of_memory.h"
#include "world/external/known_types.h"

namespace minidynamo {

Progress::Progress(PyCodeObject* code, PyObject* config) : code_(code) {
  const Ref interval = setting(config, "progress_interval");
  is_quiet_ = runtime().stress.on || !interval || !PyFloat_Check(interval.get());
  if (!is_quiet_) interval_ = std::chrono::duration<double>(PyFloat_AS_DOUBLE(interval.get()));
}

void Progress::look(const Tracer& tracer) {
  const auto now = Clock::now();
  if (is_quiet_ || !tracer.frame || now - said_ < interval_) return;
  said_ = now;
  const Frame& at = *tracer.frame;
  const double seconds = std::chrono::duration<double>(now - begun_).count();
  // Handlers of the log are the program's: they run as they are, and what they raise is dropped.
  const NativeScope native;
  const InterruptionsHeld meanwhile;
  static constinit Imported say{"minidynamo._records.breaks.say_progress"};
  if (say) {
    Ref done = Ref::steal(PyObject_CallFunction(say, "sdOisn", display_name(code_).c_str(), seconds,
                                                at.code()->co_filename, at.line(), qualified_name(at.code()).c_str(),
                                                static_cast<Py_ssize_t>(tracer.graph.nodes().size())));
  }
  clear_error();
}

}  // namespace minidynamo
