// CPython delivers signals and pending calls to the thread that is the runtime's main thread, and an exception
// from another thread to the first thread state of the list that has the thread's number. While they are held, there is
// no main thread, and a thread state that runs nothing stands first in the list with the same number.
#define Py_BUILD_CORE 1
#include "python/process/interruptions.h"

#include <utility>

#include "python/error_text.h"

#undef HAVE_STD_ATOMIC
#include <internal/pycore_ceval.h>
#include <internal/pycore_interp.h>
#include <internal/pycore_pystate.h>
#include <internal/pycore_runtime.h>

namespace minidynamo {
namespace {

constexpr unsigned long kNoThread = 0;

// The state of this thread while its interruptions are held.
struct Hold {
  int scopes = 0;
  bool is_main = false;
  PyThreadState* shadow = nullptr;  // receives exceptions; null: there was no memory for one
  uint64_t shadow_id = 0;
};
thread_local Hold hold;

thread_local PyObject* delivered = nullptr;  // the exception that was delivered last; only compared

// The child of a fork has freed the thread states of the parent.
bool shadow_lives(PyInterpreterState* interpreter) noexcept {
  for (PyThreadState* state = PyInterpreterState_ThreadHead(interpreter); state; state = PyThreadState_Next(state))
    if (state == hold.shadow) return state->id == hold.shadow_id;
  return false;
}

#if PY_VERSION_HEX < 0x030D0000
int load(const _Py_atomic_int& value) noexcept { return __atomic_load_n(&value._value, __ATOMIC_RELAXED); }

bool signals_wait() noexcept { return load(_PyRuntime.ceval.signals_pending); }

void note_exception(PyThreadState* thread, bool waits) noexcept { thread->interp->ceval.pending.async_exc = waits; }

// Makes the evaluation loop look for what is there to be delivered, as CPython does.
void call_attention(PyThreadState* thread) noexcept {
  _ceval_state& state = thread->interp->ceval;
  const bool is_main = PyThread_get_thread_ident() == _PyRuntime.main_thread;
  int wanted =
      load(state.gil_drop_request) | (load(_PyRuntime.ceval.signals_pending) && is_main) | state.pending.async_exc;
#if PY_VERSION_HEX < 0x030C0000
  wanted |= load(state.pending.calls_to_do) && is_main;
#else
  wanted |= (load(_PyRuntime.ceval.pending_mainthread.calls_to_do) && is_main) | load(state.pending.calls_to_do) |
            load(state.gc_scheduled);
#endif
  __atomic_store_n(&state.eval_breaker._value, wanted, __ATOMIC_RELAXED);
}
#else
bool signals_wait() noexcept { return __atomic_load_n(&_PyRuntime.signals.is_tripped, __ATOMIC_RELAXED); }

void note_exception(PyThreadState* thread, bool waits) noexcept {
  if (waits)
    __atomic_fetch_or(&thread->eval_breaker, uintptr_t{_PY_ASYNC_EXCEPTION_BIT}, __ATOMIC_RELAXED);
  else
    __atomic_fetch_and(&thread->eval_breaker, ~uintptr_t{_PY_ASYNC_EXCEPTION_BIT}, __ATOMIC_RELAXED);
}

// Makes the evaluation loop look for what is there to be delivered: CPython may have looked in the meantime, found that
// this is not the main thread, and taken the bits for the thread away.
void call_attention(PyThreadState* thread) noexcept {
  const auto any = [](const _pending_calls& calls) { return __atomic_load_n(&calls.npending, __ATOMIC_RELAXED) > 0; };
  const bool is_main = PyThread_get_thread_ident() == _PyRuntime.main_thread;
  uintptr_t wanted = 0;
  if (is_main && signals_wait()) wanted |= _PY_SIGNALS_PENDING_BIT;
  if (any(thread->interp->ceval.pending) || (is_main && any(_PyRuntime.ceval.pending_mainthread)))
    wanted |= _PY_CALLS_TO_DO_BIT;
  __atomic_fetch_or(&thread->eval_breaker, wanted, __ATOMIC_RELAXED);
}
#endif

// Another one with the thread's number; null without memory, where PyThreadState_New crashes.
PyThreadState* new_thread_state(const PyThreadState* thread) noexcept {
#if PY_VERSION_HEX < 0x030C0000
  return _PyThreadState_Prealloc(thread->interp);
#else
#if PY_VERSION_HEX < 0x030D0000
  PyThreadState* made = _PyThreadState_New(thread->interp);
#else
  PyThreadState* made = _PyThreadState_New(thread->interp, _PyThreadState_WHENCE_UNKNOWN);
#endif
  if (made) made->thread_id = thread->thread_id;
  return made;
#endif
}

void begin() noexcept {
  PyThreadState* thread = PyThreadState_Get();
  hold.is_main = _PyRuntime.main_thread == PyThread_get_thread_ident();
  if (hold.is_main) _PyRuntime.main_thread = kNoThread;
  hold.shadow = new_thread_state(thread);
  if (!hold.shadow) return;
  hold.shadow_id = hold.shadow->id;
  hold.shadow->async_exc = std::exchange(thread->async_exc, nullptr);
}

void end() noexcept {
  PyThreadState* thread = PyThreadState_Get();
  if (hold.is_main && _PyRuntime.main_thread == kNoThread) _PyRuntime.main_thread = PyThread_get_thread_ident();
  if (hold.shadow && shadow_lives(thread->interp)) {
    // The later of two replaces the earlier one, as in PyThreadState_SetAsyncExc.
    if (PyObject* sent = std::exchange(hold.shadow->async_exc, nullptr)) {
      Ref earlier = Ref::steal(std::exchange(thread->async_exc, sent));
      note_exception(thread, true);
    }
    PyThreadState_Clear(hold.shadow);
    PyThreadState_Delete(hold.shadow);
  }
  hold.shadow = nullptr;
  call_attention(thread);
}

}  // namespace

InterruptionsHeld::InterruptionsHeld() noexcept {
  if (hold.scopes++ > 0) return;
  begin();
  delivered = nullptr;
}

InterruptionsHeld::~InterruptionsHeld() {
  if (--hold.scopes == 0) end();
}

InterruptionsLetIn::InterruptionsLetIn() noexcept : scopes_(std::exchange(hold.scopes, 0)) {
  if (scopes_) end();
}

InterruptionsLetIn::~InterruptionsLetIn() {
  if (scopes_) begin();
  hold.scopes = scopes_;
}

bool interruption_waits() noexcept {
  if (!hold.scopes) return false;
  return (hold.is_main && signals_wait()) || (hold.shadow && hold.shadow->async_exc);
}

bool deliver_interruptions() noexcept {
  InterruptionsLetIn all;
  if (Py_MakePendingCalls() >= 0) {
    PyThreadState* thread = PyThreadState_Get();
    Ref sent = Ref::steal(std::exchange(thread->async_exc, nullptr));
    if (!sent) return true;
    note_exception(thread, false);
    call_attention(thread);
    PyErr_SetNone(sent.get());
  }
  delivered = current_error();
  return false;
}

bool is_error_delivered() noexcept { return delivered && current_error() == delivered; }

}  // namespace minidynamo
