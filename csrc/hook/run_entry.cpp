#include "hook/run_entry.h"

#include "bytecode/instruction.h"
#include "codegen/resume.h"
#include "hook/capture.h"
#include "hook/frame_hook.h"

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
  explicit RunScope(Run& run) noexcept : outer_(std::exchange(current_run, &run)) { ++runtime().running_entries; }
  ~RunScope() {
    current_run = outer_;
    if (--runtime().running_entries == 0 && runtime().forget_names_later) {
      PyObject *type, *value, *traceback;
      PyErr_Fetch(&type, &value, &traceback);
      forget_names();
      PyErr_Restore(type, value, traceback);
    }
  }
  RunScope(const RunScope&) = delete;

 private:
  Run* outer_;
};

PyObject* put_aside_mark() {
  static PyObject* const mark = PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyBaseObject_Type));
  return mark;
}

Ref pack_tuple(PyObject* const* slots, uint32_t count) {
  Ref tuple = Ref::steal(PyTuple_New(count));
  for (uint32_t i = 0; tuple && i < count; ++i) PyTuple_SET_ITEM(tuple.get(), i, Ref::borrow(slots[i]).release());
  return tuple;
}

Ref pack_list(PyObject* const* slots, uint32_t count) {
  Ref list = Ref::steal(PyList_New(count));
  for (uint32_t i = 0; list && i < count; ++i) PyList_SET_ITEM(list.get(), i, Ref::borrow(slots[i]).release());
  return list;
}

// Where residual code calls the compiled function: the only call of its kind.
int32_t graph_call_offset(PyCodeObject* residual) {
  for (const Instruction& now : decode(residual).instructions)
    if (now.op == Op::CALL_FUNCTION_EX) return now.offset;
  return -1;
}

// Whether the current Python error comes out of the compiled function, and the graph, run as it is, raises too: the
// program's own error then, which it may handle. It is cleared, so that the frame can run as it was. Nothing has
// happened yet: effects come after the graph.
bool is_error_of_program(const CacheEntry& entry, PyObject* inputs) {
  if (!entry.compiled || !entry.may_run_again) return false;
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  bool raises = false;
  auto* innermost = reinterpret_cast<PyTracebackObject*>(traceback);
  auto* residual = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(entry.residual_function.get()));
  if (innermost && innermost->tb_lasti == graph_call_offset(residual)) {
    Ref frame_code = Ref::steal(reinterpret_cast<PyObject*>(PyFrame_GetCode(innermost->tb_frame)));
    if (frame_code.is(reinterpret_cast<PyObject*>(residual)) &&
        PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(type), reinterpret_cast<PyTypeObject*>(PyExc_Exception))) {
      ModeScope nothing_else(kCaptureNothing);
      Ref forward = Ref::steal(PyObject_GetAttrString(entry.graph_module.get(), "forward"));
      Ref result = forward ? Ref::steal(PyObject_CallObject(forward.get(), inputs)) : Ref();
      raises = forward && !result;
      PyErr_Clear();
    }
  }
  if (raises) {
    Ref::steal(type), Ref::steal(value), Ref::steal(traceback);
    return true;
  }
  PyErr_Restore(type, value, traceback);
  return false;
}

// Runs an entry whose guards have just gathered `slots`. `captured` false: run the frame as it was. Of `locals`
// those are let go of that the program may have deleted.
Ref run_residual(const std::shared_ptr<CacheEntry>& entry, PyObject* const* slots, Run& run, bool& captured,
                 std::vector<Ref>* locals = nullptr) {
  captured = true;
  Ref inputs = pack_tuple(slots, entry->graph_inputs);
  Ref live = entry->uses_live ? pack_list(slots, entry->guards.gathered()) : Ref::none();
  entry->guards.let_go();
  for (size_t i = 0; locals && !entry->compiled && i < locals->size(); ++i)
    if (i >= entry->rebinds.size() || entry->rebinds[i]) (*locals)[i].reset();
  PyObject* arguments[] = {nullptr, inputs.get(), live.get()};
  auto call = [&] {
    return Ref::steal(PyObject_Vectorcall(entry->residual_function.get(), arguments + 1,
                                          2 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
  };
  Ref result;
  if (entry->is_broken) {
    HookInstalled hook;
    ModeScope what_it_calls({reinterpret_cast<PyObject*>(entry->config), nullptr});
    run.residual = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(entry->residual_function.get()));
    result = call();
    run.residual = nullptr;
  } else {
    ModeScope nothing_else(kCaptureNothing);
    result = call();
  }
  if (!result && is_error_of_program(*entry, inputs.get())) captured = false;
  return result;
}

// Runs the function that a residual function went on with: from an entry, or as it is.
Ref run_resume_function(PyObject* function, std::vector<Ref> arguments, PyObject* config, Run& run) {
  auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function));
  std::vector<PyObject*> locals(code->co_nlocalsplus, nullptr);
  for (size_t i = 0; i < arguments.size(); ++i) locals[i] = arguments[i].get();
  FoundEntry found;
  bool has_entry;
  {
    ModeScope own_work(kCaptureNothing);
    has_entry = find_entry(code, FrameView{function, locals.data()}, config, found);
  }
  if (has_entry) {
    bool captured;
    Ref result = run_residual(found.entry, found.slots, run, captured, &arguments);
    if (captured) return result;
  } else if (PyErr_Occurred()) {
    return nullptr;
  }
  HookInstalled hook;
  ModeScope what_it_calls({config, nullptr});
  locals.resize(arguments.size());
  run.starting = code;
  run.its_arguments = std::move(arguments);
  Ref result = Ref::steal(PyObject_Vectorcall(function, locals.data(), locals.size(), nullptr));
  run.starting = nullptr;
  run.its_arguments.clear();
  return result;
}

Ref run_entry(const FoundEntry& found, bool& captured) {
  if (!found.entry->is_broken) {
    Run none;
    return run_residual(found.entry, found.slots, none, captured);
  }
  Run run;
  RunScope scope(run);
  Ref config = Ref::borrow(reinterpret_cast<PyObject*>(found.entry->config));  // a reset lets go of it
  Ref result = run_residual(found.entry, found.slots, run, captured);
  while (captured && run.next_function) {
    const Ref function = std::exchange(run.next_function, nullptr);
    result = run_resume_function(function.get(), std::exchange(run.next_arguments, {}), config.get(), run);
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

Ref put_aside(const InterpreterFrame& frame) {
  Run* run = current_run;
  if (!run || !run->residual || frame.caller_code != run->residual || !frame.is_call || !frame.is_tail_call ||
      (frame.code->co_flags & CO_GENERATOR) || !find_resume_function(frame.code))
    return nullptr;
  run->residual = nullptr;
  run->next_function = Ref::borrow(frame.function);
  run->next_arguments.reserve(frame.code->co_argcount);
  for (int32_t i = 0; i < frame.code->co_argcount; ++i) run->next_arguments.push_back(Ref::borrow(frame.locals[i]));
  return Ref::borrow(put_aside_mark());
}

Ref run_cached(PyCodeObject* code, const FrameView& view, PyObject* config, bool& captured) {
  captured = false;
  CodeCache* cache = CodeCache::find(code);
  if (!cache) return nullptr;
  FoundEntry found;
  return find_cached(cache, view, config, found) ? run_entry(found, captured) : Ref();
}

Ref run_captured(PyCodeObject* code, const FrameView& view, PyObject* config, bool& captured) {
  captured = false;
  FoundEntry found;
  return find_entry(code, view, config, found) ? run_entry(found, captured) : Ref();
}

}  // namespace minidynamo
