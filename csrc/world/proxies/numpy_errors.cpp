#include "world/proxies/numpy_errors.h"

#include "python/named_item.h"
#include "python/native_function.h"
#include "python/objects/context_variable.h"
#include "world/external/known_types.h"
#include "world/external/pin.h"

namespace minidynamo {
namespace {

// True if errors are ignored or warned about in the running context. No Python code runs: guards ask it.
PyObject* numpy_errors_are_silent(PyObject*, PyObject*) {
  static constinit Imported variable{"numpy._core.umath._extobj_contextvar"};
  static constinit Imported ask{"numpy._core.umath._get_extobj_dict"};
  if (!variable.get() || !ask.get()) return nullptr;
  // Without a value of its own, the variable stands for the defaults.
  const Ref state = Ref::steal(context_value(variable, false));
  if (!state) Py_RETURN_TRUE;
  const Ref modes = Ref::steal(PyObject_CallNoArgs(ask));
  if (!modes) return nullptr;
  for (const char* kind : {"divide", "over", "under", "invalid"}) {
    PyObject* const mode = named_item(modes.get(), kind);
    if (!mode || !PyUnicode_Check(mode)) Py_RETURN_FALSE;
    if (PyUnicode_CompareWithASCIIString(mode, "ignore") && PyUnicode_CompareWithASCIIString(mode, "warn"))
      Py_RETURN_FALSE;
  }
  Py_RETURN_TRUE;
}

}  // namespace

bool guard_numpy_errors(Tracer& tracer) {
  PyObject* const asked = native_function<METH_NOARGS, numpy_errors_are_silent>("numpy_errors_are_silent");
  const Ref silent = Ref::steal(PyObject_CallNoArgs(asked));
  if (!silent) return clear_error(), false;
  guard_state(tracer, asked, "numpy_errors_are_silent", silent.get());
  return silent.is(Py_True);
}

}  // namespace minidynamo
