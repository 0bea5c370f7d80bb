#include "tensor/process/random_watch.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/record_function.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "python/process/out_of_memory.h"
#include "python/process/thread_switches.h"

namespace minidynamo {
namespace {

constexpr const char* kName = "minidynamo.random_watch";

struct RandomWatch {
  uint64_t thread = at::RecordFunction::currentThreadId();
  unsigned long switches = thread_switches();
  bool was_alone = false;
  std::atomic<bool> drew = false, drew_here = false;
};

// Those that are going on. Operators look at them from any thread, without the GIL.
std::mutex watches_mutex;
std::vector<RandomWatch*>& watches() {
  static auto* const all = new std::vector<RandomWatch*>;
  return *all;
}
at::CallbackHandle callback = at::INVALID_CALLBACK_HANDLE;  // set while there is one

bool draws(const at::RecordFunction& function) {
  const auto name = function.operator_name();
  const auto found = name ? c10::Dispatcher::singleton().findOp(*name) : std::nullopt;
  return found && found->hasSchema() && found->hasTag(at::Tag::nondeterministic_seeded);
}

std::unique_ptr<at::ObserverContext> note_operator(const at::RecordFunction& function) {
  if (!draws(function)) return nullptr;
  const uint64_t thread = at::RecordFunction::currentThreadId();
  const std::lock_guard lock(watches_mutex);
  for (RandomWatch* watch : watches()) (watch->thread == thread ? watch->drew_here : watch->drew) = true;
  return nullptr;
}

void begin(RandomWatch* watch) {
  {
    const std::lock_guard lock(watches_mutex);
    watches().push_back(watch);
  }
  if (callback == at::INVALID_CALLBACK_HANDLE)
    callback = at::addGlobalCallback(at::RecordFunctionCallback(note_operator).scopes({at::RecordScope::FUNCTION}));
}

void end(const RandomWatch* watch) noexcept {
  bool is_last = false;
  {
    const std::lock_guard lock(watches_mutex);
    std::erase(watches(), watch);
    is_last = watches().empty();
  }
  if (is_last && callback != at::INVALID_CALLBACK_HANDLE)
    try_to([&] { at::removeCallback(std::exchange(callback, at::INVALID_CALLBACK_HANDLE)); });
}

void release_watch(PyObject* capsule) {
  auto* watch = static_cast<RandomWatch*>(PyCapsule_GetPointer(capsule, kName));
  end(watch);
  delete watch;
}

}  // namespace

Ref watch_random() {
  auto watch = std::make_unique<RandomWatch>();
  PyThreadState* first = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
  watch->was_alone = first && !PyThreadState_Next(first);
  begin(watch.get());
  Ref capsule = Ref::steal(PyCapsule_New(watch.get(), kName, entry<release_watch>));
  if (capsule)
    watch.release();
  else
    end(watch.get());
  return capsule;
}

Ref end_random_watch(PyObject* capsule) {
  auto* watch = static_cast<RandomWatch*>(PyCapsule_GetPointer(capsule, kName));
  if (!watch) return nullptr;
  end(watch);
  const bool ran = thread_switches() != watch->switches;
  return Ref::steal(Py_BuildValue("(OOOO)", watch->was_alone ? Py_True : Py_False, ran ? Py_True : Py_False,
                                  watch->drew ? Py_True : Py_False, watch->drew_here ? Py_True : Py_False));
}

}  // namespace minidynamo
