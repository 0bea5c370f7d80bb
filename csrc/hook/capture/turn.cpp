#include "hook/capture/turn.h"

#include <pythread.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "hook/settings.h"
#include "python/error_set_aside.h"
#include "python/named_item.h"
#include "python/process/out_of_memory.h"

namespace minidynamo {

bool Activity::is_free() const noexcept { return depth_ == 0 || process_ != getpid(); }
bool Activity::is_mine() const noexcept { return !is_free() && thread_ == PyThread_get_thread_ident(); }

class Turns {
 public:
  static void begin(Activity& activity) noexcept {
    if (activity.is_free()) {
      activity.depth_ = 0;
      activity.waiting_.clear();  // entries of another process
    }
    activity.thread_ = PyThread_get_thread_ident();
    activity.process_ = getpid();
    ++activity.depth_;
  }

  static void end(Activity& activity) noexcept {
    if (!activity.is_mine() || --activity.depth_) return;
    for (PyThread_type_lock waiting : std::exchange(activity.waiting_, {})) PyThread_release_lock(waiting);
  }

  // Until the activity ends or the deadline comes. False: a Python error is set.
  static bool wait(Activity& activity, Deadline deadline) {
    PyThread_type_lock bell = PyThread_allocate_lock();
    if (!bell) return PyErr_NoMemory(), false;
    PyThread_acquire_lock(bell, NOWAIT_LOCK);
    activity.waiting_.push_back(bell);
    bool is_well = true;
    for (;;) {
      const auto left =
          std::chrono::duration_cast<std::chrono::microseconds>(deadline - std::chrono::steady_clock::now());
      PyLockStatus status = PY_LOCK_FAILURE;
      if (left.count() > 0) {
        PyThreadState* thread = PyEval_SaveThread();
        status = PyThread_acquire_lock_timed(bell, left.count(), 1);
        PyEval_RestoreThread(thread);
      }
      if (status != PY_LOCK_INTR) break;
      is_well = Py_MakePendingCalls() == 0;  // signal handlers, in the main thread
      if (!is_well) break;
    }
    std::erase(activity.waiting_, bell);
    PyThread_free_lock(bell);
    return is_well;
  }
};

namespace {

using CaptureKey = std::pair<PyCodeObject*, ConfigId>;

// Those that are going on.
std::map<CaptureKey, std::shared_ptr<Activity>>& captures() noexcept {
  static auto* const going_on = new std::map<CaptureKey, std::shared_ptr<Activity>>;
  return *going_on;
}

Activity backend;
thread_local int own_captures = 0;

// torch.compile's lock (an RLock), if anybody may use it; null without a Python error otherwise.
Ref find_torch_lock() {
  PyObject* module = named_item(PyImport_GetModuleDict(), "torch._dynamo.convert_frame");
  Ref lock = module && PyModule_Check(module)
                 ? Ref::borrow(named_item(PyModule_GetDict(module), "compile_lock"))  // not there yet: null
                 : Ref();
  clear_error();
  return lock;
}

bool holds_torch_lock() {
  const Ref lock = find_torch_lock();
  Ref is_own = lock ? Ref::steal(PyObject_CallMethod(lock.get(), "_is_owned", nullptr)) : Ref();
  clear_error();
  return is_own.is(Py_True);
}

// torch's lock while a backend works; in a child of a fork it may be held by a thread that the child has not.
PyObject* held_torch_lock = nullptr;

}  // namespace

Deadline capture_deadline(PyObject* config) {
  const Ref seconds = setting(config, "capture_wait");
  const double wanted = seconds ? PyFloat_AsDouble(seconds.get()) : 0;
  clear_error();
  constexpr double kLongest = 1e7;
  return std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                                std::chrono::duration<double>(std::clamp(wanted, 0.0, kLongest)));
}

CaptureTurn::CaptureTurn(PyCodeObject* code, ConfigId config) noexcept
    : code_(Ref::borrow(as_object(code))), config_(config) {}

Turn CaptureTurn::take(Deadline deadline) {
  const CaptureKey key{as_code(code_.get()), config_};
  std::shared_ptr<Activity> activity;
  if (auto known = captures().find(key); known != captures().end()) activity = known->second;
  if (!activity || activity->is_free()) {
    activity_ = captures()[key] = std::make_shared<Activity>();
    Turns::begin(*activity_);
    ++own_captures;
    return Turn::Mine;
  }
  if (activity->is_mine() || own_captures || deadline <= std::chrono::steady_clock::now() || holds_torch_lock())
    return Turn::Never;
  return Turns::wait(*activity, deadline) ? Turn::Over : Turn::Error;
}

CaptureTurn::~CaptureTurn() {
  if (!activity_) return;
  --own_captures;
  const CaptureKey key{as_code(code_.get()), config_};
  if (auto known = captures().find(key); known != captures().end() && known->second == activity_)
    captures().erase(known);
  Turns::end(*activity_);
}

Turn BackendTurn::take(Deadline deadline) {
  if (backend.is_free()) {
    if (Ref left_behind = Ref::steal(std::exchange(held_torch_lock, nullptr))) {
      Ref::drop(PyObject_CallMethod(left_behind.get(), "_at_fork_reinit", nullptr));
      clear_error();
    }
  }
  torch_lock_ = find_torch_lock();
  if (torch_lock_) {
    const double seconds = std::chrono::duration<double>(deadline - std::chrono::steady_clock::now()).count();
    Ref taken = Ref::steal(PyObject_CallMethod(torch_lock_.get(), "acquire", "Od", Py_True, std::max(seconds, 0.0)));
    if (!taken.is(Py_True)) {
      torch_lock_.reset();
      return taken ? Turn::Never : Turn::Error;
    }
  }
  while (!backend.is_free() && !backend.is_mine()) {
    if (deadline <= std::chrono::steady_clock::now()) return Turn::Never;
    if (!Turns::wait(backend, deadline)) return Turn::Error;
  }
  Turns::begin(backend);
  is_mine_ = true;
  if (torch_lock_ && !held_torch_lock) held_torch_lock = Ref(torch_lock_).release();
  return Turn::Mine;
}

BackendTurn::~BackendTurn() {
  const ErrorSetAside error;
  if (is_mine_) {
    Turns::end(backend);
    if (backend.is_free()) Ref::drop(std::exchange(held_torch_lock, nullptr));
  }
  if (torch_lock_) {
    Ref::drop(PyObject_CallMethod(torch_lock_.get(), "release", nullptr));
    clear_error();
  }
}

}  // namespace minidynamo
