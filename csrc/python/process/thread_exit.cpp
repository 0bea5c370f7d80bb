#define Py_BUILD_CORE 1
#include "python/process/thread_exit.h"

#include <unistd.h>
#include <unwind.h>

#include <exception>

#include "python/ref.h"

#undef HAVE_STD_ATOMIC
#include <internal/pycore_runtime.h>

namespace minidynamo {
namespace {

// True if CPython is ending this thread: the main thread's unwinding is never its doing.
#if PY_VERSION_HEX < 0x030D0000
constexpr auto Py_IsFinalizing = _Py_IsFinalizing;
#endif

bool is_ended_by_interpreter() noexcept {
  return (Py_IsFinalizing() || !Py_IsInitialized()) && PyThread_get_thread_ident() != _PyRuntime.main_thread;
}

[[noreturn]] void stop_for_good() noexcept {
  for (;;) pause();
}

std::terminate_handler next_handler = nullptr;

[[noreturn]] void terminate() {
  if (is_ended_by_interpreter() && !std::current_exception()) stop_for_good();
  next_handler();
  __builtin_unreachable();
}

}  // namespace

void stop_threads_at_exit() noexcept { next_handler = std::set_terminate(terminate); }

}  // namespace minidynamo

extern "C" {

_Unwind_Reason_Code __real___gxx_personality_v0(int version, _Unwind_Action actions, _Unwind_Exception_Class kind,
                                                _Unwind_Exception* exception, _Unwind_Context* context);

// Not hidden: in a linked executable, GNU's linker makes the libraries use it too.
__attribute__((visibility("default"))) _Unwind_Reason_Code __wrap___gxx_personality_v0(int version,
                                                                                       _Unwind_Action actions,
                                                                                       _Unwind_Exception_Class kind,
                                                                                       _Unwind_Exception* exception,
                                                                                       _Unwind_Context* context) {
  if ((actions & _UA_FORCE_UNWIND) && minidynamo::is_ended_by_interpreter()) minidynamo::stop_for_good();
  return __real___gxx_personality_v0(version, actions, kind, exception, context);
}
}
