#include "python/code/annotations.h"

#include "python/cached.h"
#include "python/named_item.h"
#include "python/unstable.h"

namespace minidynamo {
namespace {

// True if MAKE_FUNCTION sets the __qualname__ of a function's __annotate__ ("f.__annotate__"). A bugfix release of 3.14
// brought it, so the interpreter is asked.
bool makers_have_names() {
  static constinit CachedObject name{[](const char*) {
    const Ref names = Ref::made(PyDict_New());
    const Ref done = Ref::steal(PyRun_String("def f() -> None: ...\nname = f.__annotate__.__qualname__", Py_file_input,
                                             names.get(), names.get()));
    return done ? Ref::borrow(named_item(names.get(), "name")) : Ref();
  }};
  PyObject* found = name.get();
  if (!found) clear_error();
  return found && PyUnicode_CompareWithASCIIString(found, "f.__annotate__") == 0;
}

}  // namespace

bool makes_annotations(PyObject* object, PyObject* name) noexcept {
  if (!kAnnotationsAreLazy || PyUnicode_CompareWithASCIIString(name, "__annotations__") != 0) return false;
  if (PyFunction_Check(object)) return !as_function(object)->func_annotations && annotate_of(as_function(object));
  if (!PyType_Check(object) || !(as_type(object)->tp_flags & Py_TPFLAGS_HEAPTYPE)) return false;
  PyObject* own = namespace_of(as_type(object));
  return !named_item(own, "__annotations__") && !named_item(own, "__annotations_cache__");
}

void set_annotations_maker(PyFunctionObject* function, Ref maker) {
  if (PyFunction_Check(maker.get()) && makers_have_names()) {
    Ref name = Ref::made(PyUnicode_FromFormat("%U.__annotate__", function->func_qualname));
    Py_XSETREF(as_function(maker.get())->func_qualname, name.release());
  }
  set_annotate(function, std::move(maker));
}

}  // namespace minidynamo
