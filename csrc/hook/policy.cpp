#include "hook/policy.h"

#include "hook/runtime.h"
#include "python/dict_version.h"
#include "tensor/fake.h"
#include "trace/code_origin.h"
#include "trace/known_types.h"
#include "trace/user_rules.h"

namespace minidynamo {
namespace {

// Whether a tensor or module can be reached from an object in few steps.
class TensorSearch {
 public:
  bool reaches(PyObject* object, int depth) {
    if (!object || --left_ < 0) return false;
    if (is_tensor(object) || PyType_IsSubtype(Py_TYPE(object), known_types()->module)) return true;
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
    TensorSearch* search;
    int depth;
    bool found;
  };
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
  PyErr_Clear();  // an interactive session's has none
  return !file || code_origin(file.get()) == CodeOrigin::User;
}

}  // namespace

bool should_capture(const InterpreterFrame& frame) {
  if (!frame.is_call || (frame.code->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR))) return false;
  if (runtime().stress.on) return code_origin(frame.code->co_filename) != CodeOrigin::Minidynamo;
  int parameters = frame.code->co_argcount + frame.code->co_kwonlyargcount;
  parameters += (frame.code->co_flags & CO_VARARGS ? 1 : 0) + (frame.code->co_flags & CO_VARKEYWORDS ? 1 : 0);
  TensorSearch search;
  constexpr int kDepth = 3;
  for (int i = 0; i < parameters; ++i)
    if (search.reaches(frame.locals[i], kDepth)) return is_of_user(frame) && !kept_out(frame.function);
  return false;
}

}  // namespace minidynamo
