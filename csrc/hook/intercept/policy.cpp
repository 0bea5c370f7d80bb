#include "hook/intercept/policy.h"

#include <algorithm>
#include <string_view>

#include "emit/resume.h"
#include "hook/intercept/fx_tracers.h"
#include "hook/runtime.h"
#include "model/protocols/upward.h"
#include "python/code/code_extra.h"
#include "python/named_item.h"
#include "python/process/nesting.h"
#include "python/process/out_of_memory.h"
#include "python/unstable.h"
#include "python/version/dict_version.h"
#include "python/version/eval_frame.h"
#include "python/version/type_version.h"
#include "tensor/fake/fake.h"
#include "tensor/process/active_modes.h"
#include "world/external/known_types.h"
#include "world/native/code_origin.h"

namespace minidynamo {
namespace {

// True if something can be reached from an object in few steps.
class Search {
 public:
  explicit Search(bool (*is_wanted)(PyObject*) noexcept) : is_wanted_(is_wanted) {}

  bool reaches(PyObject* object, int depth) {
    if (!object || --left_ < 0) return false;
    if (is_wanted_(object)) return true;
    if (depth == 0) return false;
    if (PyTuple_Check(object) || PyList_Check(object)) {
      for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i)
        if (left_ < 0 || reaches(PySequence_Fast_GET_ITEM(object, i), depth - 1)) return left_ >= 0;
      return false;
    }
    if (PyDict_Check(object)) return reaches_in_dict(object, depth);
    if (is_static_class(Py_TYPE(object)) || !has_instance_dict(Py_TYPE(object))) return false;
    if (PyObject* dict = instance_dict(object)) return reaches_in_dict(dict, depth);
    Visit state{this, depth, false};
    visit_inline_attributes(object, visit, &state);
    return state.found;
  }

 private:
  struct Visit {
    Search* search;
    int depth;
    bool found;
  };
  bool (*is_wanted_)(PyObject*) noexcept;
  int left_ = 64;  // objects to look at

  static bool visit(void* raw, PyObject*, PyObject* value) {
    auto* state = static_cast<Visit*>(raw);
    state->found |= state->search->reaches(value, state->depth - 1);
    return !state->found;
  }

  bool reaches_in_dict(PyObject* dict, int depth) {
    Py_ssize_t position = 0;
    PyObject *key, *value;
    while (left_ >= 0 && PyDict_Next(dict, &position, &key, &value))
      if (reaches(value, depth - 1)) return true;
    return false;
  }
};

bool is_tensor_or_module(PyObject* object) noexcept {
  return is_tensor(object) || PyType_IsSubtype(Py_TYPE(object), known_types()->module);
}

// A global of a module that was imported; null if there is none.
PyObject* global_of(const char* module_name, const char* name) noexcept {
  PyObject* module = named_item(PyImport_GetModuleDict(), module_name);
  return module && PyModule_Check(module) ? named_item(PyModule_GetDict(module), name) : nullptr;
}

int32_t parameter_count(const PyCodeObject* code) noexcept {
  return code->co_argcount + code->co_kwonlyargcount + (code->co_flags & CO_VARARGS ? 1 : 0) +
         (code->co_flags & CO_VARKEYWORDS ? 1 : 0);
}

bool any_parameter_reaches(PyCodeObject* code, FastLocals locals, bool (*is_wanted)(PyObject*) noexcept) {
  Search search(is_wanted);
  constexpr int kDepth = 3;
  for (int32_t i = 0; i < parameter_count(code); ++i)
    if (search.reaches(locals[i], kDepth)) return true;
  return false;
}

// Functions that libraries generate from text have no file; their module, if they have one, tells whose they are.
bool is_of_user(const InterpreterFrame& frame) {
  if (code_origin(frame.code->co_filename) != CodeOrigin::User) return false;
  const char* filename = PyUnicode_AsUTF8(frame.code->co_filename);
  if (!filename || filename[0] != '<') return true;
  PyObject* name = named_item(PyFunction_GET_GLOBALS(frame.function), "__name__"_name);
  PyObject* module = name && PyUnicode_CheckExact(name) ? named_item(PyImport_GetModuleDict(), name) : nullptr;
  if (!module || !PyModule_Check(module)) return false;
  Ref file = Ref::steal(PyModule_GetFilenameObject(module));
  clear_error();  // an interactive session's has none
  return !file || code_origin(file.get()) == CodeOrigin::User;
}

// The kind of a code object for global capture, determined once for each.
enum class CodeKind : uint8_t {
  Unknown,
  Never,  // a library's, or code that reads objects rather than computes
  Constructor,
  TorchModule,  // torch.nn's: the outermost call of one of its modules is captured
  User,         // a number of further kinds follow, see reaches_on_its_own
};
constexpr uintptr_t kLooks = 16;  // at what a function reaches without being given it, before that is taken for nothing
constexpr uintptr_t kReaches = static_cast<uintptr_t>(CodeKind::User) + kLooks + 1;

CodeSlot& kind_slot() noexcept {
  static CodeSlot slot([](void*) {});
  return slot;
}

void note_kind(PyCodeObject* code, uintptr_t kind) noexcept {
  if (!kind_slot().set(code, reinterpret_cast<void*>(kind))) clear_error();
}

// True for a function that returns an element by its number, and the like: each call would be captured anew.
bool reads_objects(PyCodeObject* code) noexcept {
  static constexpr std::string_view kNames[] = {
      "__new__",     "__post_init__", "__init_subclass__", "__del__",      "__getitem__", "__getitems__", "__len__",
      "__getattr__", "__setattr__",   "__getstate__",      "__setstate__", "__repr__",    "__reduce_ex__"};
  const char* name = PyUnicode_AsUTF8(code->co_name);
  return !name || std::find(std::begin(kNames), std::end(kNames), std::string_view(name)) != std::end(kNames);
}

CodeKind kind_of(const InterpreterFrame& frame) {
  const auto known = reinterpret_cast<uintptr_t>(kind_slot().get(frame.code));
  if (known) return static_cast<CodeKind>(std::min(known, static_cast<uintptr_t>(CodeKind::User)));
  const char* filename = PyUnicode_AsUTF8(frame.code->co_filename);
  const CodeOrigin origin = code_origin(frame.code->co_filename);
  CodeKind kind = CodeKind::Never;
  if (!PyUnicode_CompareWithASCIIString(frame.code->co_name, "__init__")) {
    kind = CodeKind::Constructor;
  } else if (origin == CodeOrigin::TorchModules) {
    // A module that spreads another over devices and processes does not belong into a graph.
    const bool is_module_code = filename && std::string_view(filename).find("/nn/parallel/") == std::string_view::npos;
    if (is_module_code && !PyUnicode_CompareWithASCIIString(frame.code->co_name, "forward"))
      kind = CodeKind::TorchModule;
  } else if (!reads_objects(frame.code) && is_of_user(frame)) {
    kind = CodeKind::User;
  }
  clear_error();
  note_kind(frame.code, static_cast<uintptr_t>(kind));
  return kind;
}

// True if the frame is forward() of the module that it is given first: a call of a module from outside all frames that
// are captured.
bool is_forward_of_module(const InterpreterFrame& frame) noexcept {
  PyObject* self = frame.code->co_argcount ? frame.locals[0] : nullptr;
  return self && PyType_IsSubtype(Py_TYPE(self), known_types()->module) &&
         class_attribute(Py_TYPE(self), "forward"_name) == frame.function;
}

// True if the function comes to tensors by the variables around it: its closure, or names of its module.
bool reaches_on_its_own(const InterpreterFrame& frame) {
  const auto known = reinterpret_cast<uintptr_t>(kind_slot().get(frame.code));
  if (known == kReaches) return true;
  if (known + 1 == kReaches) return false;  // looked often enough
  constexpr int kDepth = 2;
  Search search(is_tensor_or_module);
  bool found = false;
  PyObject* closure = PyFunction_GET_CLOSURE(frame.function);
  for (Py_ssize_t i = 0; closure && !found && i < PyTuple_GET_SIZE(closure); ++i)
    found = search.reaches(PyCell_GET(PyTuple_GET_ITEM(closure, i)), kDepth);
  PyObject* names = frame.code->co_names;
  PyObject* globals = PyFunction_GET_GLOBALS(frame.function);
  for (Py_ssize_t i = 0; !found && i < PyTuple_GET_SIZE(names); ++i)
    found = search.reaches(named_item(globals, PyTuple_GET_ITEM(names, i)), kDepth);
  note_kind(frame.code, found ? kReaches : known + 1);
  return found;
}

// Methods of the program's own optimizers: what they do to each parameter is no graph that is used again.
bool is_of_optimizer(const InterpreterFrame& frame) noexcept {
  PyObject* optimizer = global_of("torch.optim.optimizer", "Optimizer");
  PyObject* self = frame.code->co_argcount ? frame.locals[0] : nullptr;
  return self && optimizer && PyType_Check(optimizer) && PyType_IsSubtype(Py_TYPE(self), as_type(optimizer));
}

bool has_finalizer_of_class(PyObject* object) noexcept {
  PyTypeObject* type = Py_TYPE(object);
  return !is_static_class(type) && type->tp_finalize && !PyIter_Check(object);
}

// A generator that is suspended inside of try or with runs the rest of that.
bool has_left_block_open(PyObject* object) noexcept {
  bool is_inside = false;
  const SuspendedAt at = PyGen_CheckExact(object) ? suspended_at(object) : SuspendedAt{};
  if (!at.code) return false;
  try_to([&] {
    const CodeInfo* prepared = prepare(at.code);
    is_inside = prepared && prepared->bytecode.block_at(prepared->bytecode.index_of_offset(at.offset));
    if (!prepared) clear_error();
  });
  return is_inside;
}

// True if one of the objects, or of those in a list that only they hold (the arguments of a frame that the resume
// function goes on with), has a finalizer and no other holder. Of a generator among a resume function's own arguments
// the trace sees the end.
bool any_is_last_of_finalized(FastLocals objects, Py_ssize_t count, bool generators_too = false) noexcept {
  const NestingLevel level;
  if (level.is_too_deep()) return true;  // it may: what lies deeper is not looked at
  const auto times = [&](PyObject* wanted) {
    Py_ssize_t found = 0;
    for (Py_ssize_t i = 0; i < count; ++i) found += objects[i] == wanted;
    return found;
  };
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* object = objects[i];
    if (!object) continue;
    if (PyList_CheckExact(object) && !is_shared(object)) {
      constexpr Py_ssize_t kLookedAt = 64;  // at each call of a resume function
      const Py_ssize_t looked_at = std::min(PyList_GET_SIZE(object), kLookedAt);
      if (any_is_last_of_finalized(PySequence_Fast_ITEMS(object), looked_at, true)) return true;
    }
    const bool is_last = reference_count(object) <= times(object);
    if (is_last && (has_finalizer_of_class(object) || (generators_too && has_left_block_open(object)))) return true;
  }
  return false;
}

}  // namespace

bool should_capture(const InterpreterFrame& frame, PyObject* config) {
  if (!frame.is_call || (frame.code->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR))) return false;
  if (runtime().stress.on) return code_origin(frame.code->co_filename) != CodeOrigin::Minidynamo;
  const bool is_global = captures_globally && runtime().global_config.is(config);
  const CodeKind kind = is_global ? kind_of(frame) : CodeKind::User;
  if (kind == CodeKind::Never || kind == CodeKind::Constructor) return false;
  known_types();  // or there is no memory to look for them
  if (kind == CodeKind::TorchModule) return is_forward_of_module(frame) && !skip_reason(frame.function);
  const bool is_given = any_parameter_reaches(frame.code, frame.locals, is_tensor_or_module);
  if (!is_global) return is_given && is_of_user(frame) && !skip_reason(frame.function);
  return (is_given || reaches_on_its_own(frame)) && !is_of_optimizer(frame) && !skip_reason(frame.function);
}

bool makes_module(const InterpreterFrame& frame, PyObject* config) {
  if (!captures_globally || !runtime().global_config.is(config) || kind_of(frame) != CodeKind::Constructor ||
      runtime().stress.on)
    return false;
  PyObject* self = known_types() && frame.code->co_argcount ? frame.locals[0] : nullptr;
  return self && PyType_IsSubtype(Py_TYPE(self), known_types()->module);
}

const char* capture_blocker() {
  if (const char* mode = active_mode()) return mode;
  if (is_fx_tracing()) return "torch.fx is tracing";
  return nullptr;
}

bool holds_last_of_finalized(PyCodeObject* code, const FrameView& view) noexcept {
  return find_resume_function(code) && any_is_last_of_finalized(view.locals, code->co_argcount);
}

}  // namespace minidynamo
