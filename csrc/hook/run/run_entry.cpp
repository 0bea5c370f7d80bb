#include "hook/run/run_entry.h"

#include <string>

#include "emit/resume.h"
#include "hook/config_id.h"
#include "hook/intercept/hook_installed.h"
#include "hook/run/find_entry.h"
#include "hook/run/interrupted_part.h"
#include "hook/run/profiler_switch.h"
#include "model/objects/object_end.h"
#include "python/cached.h"
#include "python/code/traceback.h"
#include "python/error_text.h"
#include "python/process/interruptions.h"
#include "python/process/out_of_memory.h"
#include "tensor/process/function_mode_stack.h"
#include "tensor/process/profiler_region.h"
#include "tensor/process/random_state.h"
#include "tensor/process/thread_modes.h"
#include "tensor/values/saved_inputs.h"
#include "world/external/known_types.h"
#include "world/proxies/unbacked_numbers.h"

namespace minidynamo {
namespace {

// The residual function that runs on this thread, and the call that it ended with.
struct Run {
  PyCodeObject* residual = nullptr;
  Ref next_function;
  std::vector<Ref> next_arguments;
  PyCodeObject* starting = nullptr;  // the resume function that is about to run as it is
  std::vector<Ref> its_arguments;
};
thread_local Run* current_run = nullptr;

class RunScope {
 public:
  explicit RunScope(Run& run) noexcept : outer_(std::exchange(current_run, &run)) {}
  ~RunScope() { current_run = outer_; }
  RunScope(const RunScope&) = delete;

 private:
  Run* outer_;
};

PyObject* deferred_mark() {
  static constinit CachedObject mark{
      [](const char*) { return Ref::steal(PyObject_CallNoArgs(as_object(&PyBaseObject_Type))); }};
  return mark;
}

// The arguments that residual code is called with.
struct Handed {
  Ref inputs, live;
};

// All that was gathered is held before anything is allocated: that may run the garbage collector, and with it code that
// lets go of what the guards found.
Handed take_arguments(const CacheEntry& entry, PyObject* const* slots) {
  const uint32_t gathered = entry.uses_live ? entry.guards.gathered() : 0;
  const uint32_t items = gathered + entry.frees_locals;
  for (uint32_t i = 0; i < entry.graph_inputs; ++i) (void)Ref::borrow(slots[i]).release();
  for (uint32_t i = 0; i < gathered; ++i) (void)Ref::borrow(slots[i]).release();
  Handed made{Ref::made(PyTuple_New(entry.graph_inputs)), entry.uses_live ? Ref::made(PyList_New(items)) : Ref::none()};
  if (!made.inputs || !made.live) {
    for (uint32_t i = 0; i < entry.graph_inputs; ++i) Ref::drop(slots[i]);
    for (uint32_t i = 0; i < gathered; ++i) Ref::drop(slots[i]);
    return {};
  }
  for (uint32_t i = 0; i < entry.graph_inputs; ++i) PyTuple_SET_ITEM(made.inputs.get(), i, slots[i]);
  for (uint32_t i = 0; i < gathered; ++i) PyList_SET_ITEM(made.live.get(), i, slots[i]);
  if (entry.frees_locals) PyList_SET_ITEM(made.live.get(), gathered, Ref::none().release());
  return made;
}

// The variables of a resume function's frame that the program may have deleted when its captured part is over: nothing
// but the residual code is to hold them then. A graph that fails leaves them to the frame, which runs uncaptured.
class LocalsToRelease {
 public:
  LocalsToRelease(const CacheEntry& entry, std::vector<Ref>* locals) : entry_(entry), locals_(locals) {}

  void hand_to(PyObject* live) {
    if (!locals_ || (entry_.compiled && !entry_.frees_locals)) return;
    if (entry_.frees_locals) {
      Py_ssize_t count = 0;
      each([&](Ref&) { ++count; });
      Ref held = Ref::made(PyTuple_New(count));
      each([&](Ref& local) { PyTuple_SET_ITEM(held.get(), --count, Ref(local).release()); });
      PyList_SetItem(live, PyList_GET_SIZE(live) - 1, held.release());
    }
    each([](Ref& local) { local.reset(); });
  }
  // Only where the residual code came no further than its graph.
  void take_back(PyObject* live) {
    if (!locals_ || !entry_.frees_locals) return;
    PyObject* held = PyList_GET_ITEM(live, PyList_GET_SIZE(live) - 1);
    Py_ssize_t count = PyTuple_GET_SIZE(held);
    each([&](Ref& local) { local = Ref::borrow(PyTuple_GET_ITEM(held, --count)); });
  }

 private:
  template <class Act>
  void each(Act&& act) {
    for (size_t i = 0; i < locals_->size(); ++i)
      if (i >= entry_.rebinds.size() || entry_.rebinds[i]) act((*locals_)[i]);
  }

  const CacheEntry& entry_;
  std::vector<Ref>* locals_;  // null: CPython's frame has them
};

// True if the error whose traceback this is comes out of the compiled function.
bool is_from_graph(const CacheEntry& entry, PyObject* traceback) {
  auto* innermost = reinterpret_cast<PyTracebackObject*>(traceback);
  PyCodeObject* residual = entry.residual_function.code();
  if (!entry.compiled || !innermost || innermost->tb_lasti != graph_call_offset(residual)) return false;
  Ref frame_code = Ref::steal(as_object(PyFrame_GetCode(innermost->tb_frame)));
  return frame_code.is(as_object(residual));
}

// The lines of the program take the place of the residual code's first one in the traceback.
void show_where(const CacheEntry& entry, PyObject* traceback) {
  ModeScope nothing_else(kCaptureNothing);
  Ref lines = Ref::steal(PyObject_CallFunctionObjArgs("minidynamo._capture.failed_graph.program_lines"_imported,
                                                      entry.graph_module.get(), traceback, nullptr));
  if (lines) show_program_lines(traceback, lines.get());
  clear_error();
}

// The error that `assert` would have raised in place of the graph's check; null: it is no error of a check.
Ref as_assertion(const CacheEntry& entry, PyObject* error) {
  ModeScope nothing_else(kCaptureNothing);
  Ref own = Ref::steal(PyObject_CallFunctionObjArgs("minidynamo._capture.failed_graph.as_assertion"_imported,
                                                    entry.graph_module.get(), error, nullptr));
  clear_error();
  return own.is(Py_None) ? Ref() : own;
}

// The current error becomes another one, with its traceback.
void replace_error(Ref error) {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  const Ref former[] = {Ref::steal(type), Ref::steal(value)};
  Ref its_type = Ref::borrow(as_object(Py_TYPE(error.get())));
  PyErr_Restore(its_type.release(), error.release(), traceback);
}

// A supposition about a number that only the run of the graph knows has turned out wrong. If that happens again, the
// next capture supposes nothing.
void note_wrong_supposition(CacheEntry& entry, const std::string& error) {
  constexpr uint32_t kOften = 3;  // a call may run an entry twice
  const bool is_one = error.find(kSupposition) != std::string::npos;
  if (!is_one || ++entry.wrong_suppositions < kOften || !entry.cache) return;
  CodeCache* cache = entry.cache;
  cache->open_numbers[entry.config].no_suppositions = true;
  cache->remove(&entry);
}

// The state that a graph finds and changes, to be put back before the graph runs once more.
class StateBefore {
 public:
  StateBefore(const CacheEntry& entry, PyObject* inputs) {
    if (entry.sets_modes) modes_.emplace();
    if (entry.keeps_random_state) random_.emplace();
    if (entry.written_inputs) inputs_.emplace(inputs, *entry.written_inputs);
  }

  void restore_thread() const {
    if (modes_) modes_->restore();
    if (random_) random_->restore();
  }
  bool restore_inputs() const { return !inputs_ || inputs_->restore(); }

 private:
  std::optional<ThreadModes> modes_;
  std::optional<RandomState> random_;
  std::optional<SavedInputs> inputs_;
};

// True if the current Python error comes out of the compiled function, and the graph, run as it is, raises too: the
// program's own error then, which it may handle. It is cleared, so that the frame can run uncaptured. Nothing has
// happened yet: effects come after the graph, and what it wrote to is put back. `before`: null if the graph changes
// nothing.
bool is_error_of_program(CacheEntry& entry, PyObject* inputs, const StateBefore* before) {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  bool raises = false;
  const bool is_of_graph = is_from_graph(entry, traceback);
  const InterruptionsHeld until_it_is_decided;  // a signal would be taken for an error of what is asked
  if (is_of_graph) {
    if (before) before->restore_thread();
    if (entry.may_run_again && (!before || before->restore_inputs()) &&
        PyType_IsSubtype(as_type(type), as_type(PyExc_Exception))) {
      ModeScope nothing_else(kCaptureNothing);
      PyObject* function = "minidynamo._capture.failed_graph.run"_imported;
      Ref result = Ref::steal(PyObject_CallFunctionObjArgs(function, entry.graph_module.get(), inputs, nullptr));
      raises = !result;
      if (raises && entry.has_suppositions) note_wrong_supposition(entry, take_error_text());
      clear_error();
    }
  }
  if (raises && (!before || before->restore_inputs())) {
    Ref::drop(type), Ref::drop(value), Ref::drop(traceback);
    if (before) before->restore_thread();  // an inference mode that was open has ended with its graph's frame
    return true;
  }
  if (is_of_graph) show_where(entry, traceback);
  Ref own = is_of_graph ? as_assertion(entry, value) : Ref();
  PyErr_Restore(type, value, traceback);
  if (own) replace_error(std::move(own));
  return false;
}

enum class RunEnd : uint8_t {
  Captured,  // the result is the frame's
  Plain,     // the frame is to run uncaptured
  Throw      // the same, with the current Python error raised at its start
};

// Runs an entry whose guards have just gathered `slots`. `run` is null if the entry is not broken. Of `locals` those
// are let go of that the program may have deleted. `function` is the one whose frame it is.
Ref run_residual_unprofiled(const std::shared_ptr<CacheEntry>& entry, PyObject* function, PyObject* const* slots,
                            Run* run, RunEnd& end, std::vector<Ref>* locals) {
  end = RunEnd::Captured;
  const auto [inputs, live] = take_arguments(*entry, slots);
  if (!inputs) return nullptr;
  const LentFunction::Loan residual(entry->residual_function, function);
  if (!residual) return end = RunEnd::Plain, nullptr;
  entry->guards.release();
  LocalsToRelease to_release(*entry, locals);
  to_release.hand_to(live.get());
  PyObject* arguments[] = {nullptr, inputs.get(), live.get()};
  auto call = [&] {
    return Ref::steal(
        PyObject_Vectorcall(residual.callable(), arguments + 1, 2 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
  };
  std::optional<FunctionModesAside> function_modes;
  if (function_mode_count() > 0) function_modes.emplace();
  std::optional<StateBefore> before;
  if (entry->changes_state) before.emplace(*entry, inputs.get());
  Ref result;
  if (entry->is_broken) {
    HookInstalled hook;
    ModeScope what_it_calls({config_of(entry->config), nullptr});
    run->residual = entry->residual_function.code();
    result = call();
    run->residual = nullptr;
  } else {
    ModeScope nothing_else(kCaptureNothing);
    result = call();
  }
  if (result) return result;
  if (is_error_of_program(*entry, inputs.get(), before ? &*before : nullptr))
    end = RunEnd::Plain;
  else if (is_interruption_at_start(*entry, function))
    end = RunEnd::Throw;
  if (end != RunEnd::Captured) to_release.take_back(live.get());
  return nullptr;
}

// The same, as a region in the profile of a profiler that is on. Apart, so that the way of all other calls stays short.
[[gnu::noinline]] Ref run_residual_profiled(const std::shared_ptr<CacheEntry>& entry, PyObject* function,
                                            PyObject* const* slots, Run* run, RunEnd& end, std::vector<Ref>* locals) {
  const ProfilerRegion region("minidynamo region " + entry->id.text() + " " +
                              display_name(as_code(PyFunction_GET_CODE(function))));
  return run_residual_unprofiled(entry, function, slots, run, end, locals);
}

Ref run_residual(const std::shared_ptr<CacheEntry>& entry, PyObject* function, PyObject* const* slots, Run* run,
                 RunEnd& end, std::vector<Ref>* locals = nullptr) {
  return profiler_is_on() ? run_residual_profiled(entry, function, slots, run, end, locals)
                          : run_residual_unprofiled(entry, function, slots, run, end, locals);
}

// Runs a resume function as it is. `raised`: at its start, if it is not null.
Ref start_resume_function(PyObject* function, std::vector<Ref> arguments, PyObject* config, bool is_apart, Ref raised,
                          Run& run) {
  auto* code = as_code(PyFunction_GET_CODE(function));
  // The hook is to answer the same for this frame, and for what it calls.
  HookInstalled hook;
  ModeScope what_it_calls({config, is_apart ? code : nullptr});
  std::vector<PyObject*> locals;
  for (const Ref& argument : arguments) locals.push_back(argument.get());
  run.starting = code;
  run.its_arguments = std::move(arguments);
  await_error(function, std::move(raised));
  Ref result = Ref::steal(PyObject_Vectorcall(function, locals.data(), locals.size(), nullptr));
  run.starting = nullptr;
  run.its_arguments.clear();
  return end_await() ? std::move(result) : Ref();
}

// Runs the function that a residual function went on with: from an entry, or as it is.
Ref run_resume_function(PyObject* function, std::vector<Ref> arguments, PyObject* config, Run& run) {
  auto* code = as_code(PyFunction_GET_CODE(function));
  std::vector<PyObject*> locals(code->co_nlocalsplus, nullptr);
  for (size_t i = 0; i < arguments.size(); ++i) locals[i] = arguments[i].get();
  FoundEntry found;
  FrameAnswer answer;
  {
    ModeScope own_work(kCaptureNothing);
    answer = find_entry(code, FrameView{function, locals.data()}, config, found);
  }
  Ref raised;
  if (answer == FrameAnswer::Raise) {
    if (!is_interruption_of_capture(code)) return nullptr;
    raised = take_error();
  }
  if (answer == FrameAnswer::Entry) {
    RunEnd end;
    Ref result = run_residual(found.entry, function, found.slots, &run, end, &arguments);
    if (end == RunEnd::Captured) return result;
    if (end == RunEnd::Throw) raised = take_error();
  }
  return start_resume_function(function, std::move(arguments), config, answer == FrameAnswer::Apart, std::move(raised),
                               run);
}

Ref run_entry(const FoundEntry& found, PyObject* function, RunEnd& end) {
  if (!found.entry->is_broken) return run_residual(found.entry, function, found.slots, nullptr, end);
  Run run;
  RunScope scope(run);
  Ref code = Ref::borrow(PyFunction_GET_CODE(function));     // which owns the resume functions
  Ref config = Ref::borrow(config_of(found.entry->config));  // a reset lets go of it
  Ref result = run_residual(found.entry, function, found.slots, &run, end);
  while (end == RunEnd::Captured && run.next_function) {
    const Ref function = std::exchange(run.next_function, nullptr);
    std::vector<Ref> arguments = std::exchange(run.next_arguments, {});
    // No result: a signal has come between the call that was put aside and the residual function's return.
    result = result
                 ? run_resume_function(function.get(), std::move(arguments), config.get(), run)
                 : start_resume_function(function.get(), std::move(arguments), config.get(), false, take_error(), run);
  }
  return result;
}

}  // namespace

void note_start(const InterpreterFrame& frame) noexcept {
  Run* run = current_run;
  if (!run || run->starting != frame.code || !frame.is_call) return;
  run->starting = nullptr;
  run->its_arguments.clear();
}

Ref defer_resume(const InterpreterFrame& frame) {
  Run* run = current_run;
  if (!run || !run->residual || frame.caller_code != run->residual || !frame.is_call || !frame.is_tail_call ||
      (frame.code->co_flags & CO_GENERATOR) || !find_resume_function(frame.code))
    return nullptr;
  std::vector<Ref> arguments;
  arguments.reserve(frame.code->co_argcount);
  for (int32_t i = 0; i < frame.code->co_argcount; ++i) arguments.push_back(Ref::borrow(frame.locals[i]));
  Ref mark = Ref::borrow(deferred_mark());
  run->residual = nullptr;
  run->next_function = Ref::borrow(frame.function);
  run->next_arguments = std::move(arguments);
  return mark;
}

Ref run_cached(CodeCache* cache, const FrameView& view, PyObject* config, bool& captured) {
  captured = false;
  FoundEntry found;
  if (!find_cached(cache, view, config, found)) return nullptr;
  RunEnd end;
  Ref result = run_entry(found, view.function, end);
  captured = end != RunEnd::Plain;
  return result;
}

Ref run_captured(PyCodeObject* code, const FrameView& view, PyObject* config, FrameAnswer& answer) {
  FoundEntry found;
  answer = find_entry(code, view, config, found);
  if (answer == FrameAnswer::Raise && is_interruption_of_capture(code)) answer = FrameAnswer::Throw;
  if (answer != FrameAnswer::Entry) return nullptr;
  RunEnd end;
  Ref result = run_entry(found, view.function, end);
  if (end == RunEnd::Throw) answer = FrameAnswer::Throw;
  if (end == RunEnd::Plain) answer = PyErr_Occurred() ? FrameAnswer::Raise : FrameAnswer::Plain;
  return result;
}

}  // namespace minidynamo
