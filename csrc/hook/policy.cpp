#include "hook/policy.h"

#include <string>
#include <string_view>
#include <vector>

#include "tensor/fake.h"
#include "trace/known_types.h"

namespace minidynamo {
namespace {

// Directories whose files are never captured as frames of their own.
const std::vector<std::string>& skipped_directories() {
  static const std::vector<std::string> directories = [] {
    std::vector<std::string> found;
    for (const char* module_name : {"os", "torch", "minidynamo"}) {
      Ref module = Ref::borrow(PyDict_GetItemString(PyImport_GetModuleDict(), module_name));
      Ref file = module ? Ref::steal(PyObject_GetAttrString(module.get(), "__file__")) : Ref();
      if (file && PyUnicode_Check(file.get())) {
        std::string path = PyUnicode_AsUTF8(file.get());
        found.push_back(path.substr(0, path.rfind('/') + 1));
      }
      PyErr_Clear();
    }
    return found;
  }();
  return directories;
}

bool is_user_file(PyObject* filename) {
  const char* text = PyUnicode_AsUTF8(filename);
  if (!text) {
    PyErr_Clear();
    return false;
  }
  const std::string_view path = text;
  if (path.starts_with("<")) return !path.starts_with("<frozen") && !path.starts_with("<eval_with_key>");
  for (const std::string& directory : skipped_directories()) {
    // site-packages lies below the standard library's directory.
    if (path.starts_with(directory) && path.find("site-packages/", directory.size()) == std::string_view::npos)
      return false;
  }
  return true;
}

}  // namespace

bool should_capture(const InterpreterFrame& frame) {
  if (!frame.is_call || (frame.code->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR))) return false;
  int parameters = frame.code->co_argcount + frame.code->co_kwonlyargcount;
  parameters += (frame.code->co_flags & CO_VARARGS ? 1 : 0) + (frame.code->co_flags & CO_VARKEYWORDS ? 1 : 0);
  const KnownTypes* known = known_types();
  auto interesting = [&](PyObject* value) {
    return value && (is_tensor(value) || PyType_IsSubtype(Py_TYPE(value), known->module));
  };
  for (int i = 0; i < parameters; ++i) {
    PyObject* value = frame.locals[i];
    bool found = interesting(value);
    if (value && PyTuple_CheckExact(value))
      for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(value) && !found; ++k)
        found = interesting(PyTuple_GET_ITEM(value, k));
    if (found) return is_user_file(frame.code->co_filename);
  }
  return false;
}

}  // namespace minidynamo
