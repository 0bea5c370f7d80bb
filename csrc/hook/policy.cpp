#include "hook/policy.h"

#include <algorithm>
#include <span>

#include "emit/resume.h"
#include "hook/runtime.h"
#include "model/upward.h"
#include "python/dict_version.h"
#include "python/named_item.h"
#include "python/out_of_memory.h"
#include "python/unstable.h"
#include "tensor/active_modes.h"
#include "tensor/fake.h"
#include "world/code_origin.h"
#include "world/known_types.h"

namespace minidynamo {
namespace {

// Whether something can be reached from an object in few steps.
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
    if (!PyType_HasFeature(Py_TYPE(object), Py_TPFLAGS_HEAPTYPE) || !has_instance_dict(Py_TYPE(object))) return false;
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

// Of a module that was imported; null if there is none.
PyObject* global_of(const char* module_name, const char* name) noexcept {
  PyObject* module = named_item(PyImport_GetModuleDict(), module_name);
  return module && PyModule_Check(module) ? named_item(PyModule_GetDict(module), name) : nullptr;
}

// What torch.fx passes in place of tensors while it traces a function.
bool is_proxy(PyObject* object) noexcept {
  PyObject* proxy = global_of("torch.fx.proxy", "Proxy");
  return proxy && PyType_Check(proxy) && PyType_IsSubtype(Py_TYPE(object), reinterpret_cast<PyTypeObject*>(proxy));
}

int32_t parameter_count(const PyCodeObject* code) noexcept {
  return code->co_argcount + code->co_kwonlyargcount + (code->co_flags & CO_VARARGS ? 1 : 0) +
         (code->co_flags & CO_VARKEYWORDS ? 1 : 0);
}

bool any_parameter_reaches(PyCodeObject* code, PyObject* const* locals, bool (*is_wanted)(PyObject*) noexcept) {
  Search search(is_wanted);
  constexpr int kDepth = 3;
  for (int32_t i = 0; i < parameter_count(code); ++i)
    if (search.reaches(locals[i], kDepth)) return true;
  return false;
}

// On any thread.
bool is_fx_tracing() noexcept { return global_of("torch.fx._symbolic_trace", "_is_fx_tracing_flag") == Py_True; }

// Functions that libraries generate from text have no file; their module, if they have one, tells whose they are.
bool is_of_user(const InterpreterFrame& frame) {
  if (code_origin(frame.code->co_filename) != CodeOrigin::User) return false;
  const char* filename = PyUnicode_AsUTF8(frame.code->co_filename);
  if (!filename || filename[0] != '<') return true;
  static PyObject* const name_name = interned("__name__");
  PyObject* name = PyDict_GetItemWithError(PyFunction_GET_GLOBALS(frame.function), name_name);
  PyObject* module = name ? PyDict_GetItemWithError(PyImport_GetModuleDict(), name) : nullptr;
  if (!module || !PyModule_Check(module)) return false;
  Ref file = Ref::steal(PyModule_GetFilenameObject(module));
  clear_error();  // an interactive session's has none
  return !file || code_origin(file.get()) == CodeOrigin::User;
}

bool has_finalizer_of_class(PyObject* object) noexcept {
  const PyTypeObject* type = Py_TYPE(object);
  return (type->tp_flags & Py_TPFLAGS_HEAPTYPE) && type->tp_finalize && !PyIter_Check(object);
}

// Whether one of the objects, or of those in a list that only they hold (the arguments of a frame that the resume
// function goes on with), has a finalizer and no other holder.
bool any_is_last_of_finalized(std::span<PyObject* const> objects) noexcept {
  for (PyObject* object : objects) {
    if (!object) continue;
    if (PyList_CheckExact(object) && !is_shared(object)) {
      constexpr Py_ssize_t kLookedAt = 64;  // at each call of a resume function
      const auto count = static_cast<size_t>(std::min(PyList_GET_SIZE(object), kLookedAt));
      if (any_is_last_of_finalized({PySequence_Fast_ITEMS(object), count})) return true;
    }
    if (has_finalizer_of_class(object) && reference_count(object) <= std::count(objects.begin(), objects.end(), object))
      return true;
  }
  return false;
}

}  // namespace

bool should_capture(const InterpreterFrame& frame) {
  if (!frame.is_call || (frame.code->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR))) return false;
  if (runtime().stress.on) return code_origin(frame.code->co_filename) != CodeOrigin::Minidynamo;
  known_types();  // or there is no memory to look for them
  return any_parameter_reaches(frame.code, frame.locals, is_tensor_or_module) && is_of_user(frame) &&
         !kept_out(frame.function);
}

const char* what_forbids_capture(PyCodeObject* code, const FrameView& view) {
  if (const char* mode = active_mode()) return mode;
  if (is_fx_tracing() && any_parameter_reaches(code, view.locals, is_proxy)) return "torch.fx is tracing";
  return nullptr;
}

bool holds_last_of_finalized(PyCodeObject* code, const FrameView& view) noexcept {
  return find_resume_function(code) && any_is_last_of_finalized({view.locals, static_cast<size_t>(code->co_argcount)});
}

}  // namespace minidynamo
