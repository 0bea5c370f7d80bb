
#include <algorithm>
#include <string_view>

#include "model/arguments.h"
#include "model/numpy_scalars.h"
#include "python/numpy_scalar.h"
#include "python/out_of_memory.h"
#include "world/known_types.h"

namespace minidynamo {
namespace {

bool is_python_number(PyObject* object) noexcept {
  PyTypeObject* type = Py_TYPE(object);
  return type == &PyLong_Type || type == &PyFloat_Type || type == &PyBool_Type || type == &PyComplex_Type;
}

// numpy.errstate in which every warning that is on by default is an error.
Ref strict_errors() {
  Ref type = import_object("numpy.errstate");
  Ref nothing = Ref::made(PyTuple_New(0));
  Ref settings = Ref::steal(
      Py_BuildValue("{s:s,s:s,s:s,s:s}", "divide", "raise", "over", "raise", "invalid", "raise", "under", "ignore"));
  return type && settings ? Ref::steal(PyObject_Call(type.get(), nothing.get(), settings.get())) : Ref();
}

}  // namespace

Ref compute_with_scalars(Tracer& tracer, const std::function<Ref()>& compute) {
  NativeScope native;
  Ref state = strict_errors();
  Ref entered = state ? Ref::steal(PyObject_CallMethod(state.get(), "__enter__", nullptr)) : Ref();
  if (!entered) return nullptr;
  Ref result = compute();
  PyObject *error, *value, *traceback;
  PyErr_Fetch(&error, &value, &traceback);
  Ref left = Ref::steal(PyObject_CallMethod(state.get(), "__exit__", "OOO", Py_None, Py_None, Py_None));
  clear_error();
  PyErr_Restore(error, value, traceback);
  if (result || !PyErr_ExceptionMatches(PyExc_FloatingPointError)) return result;
  clear_error();
  return tracer.give_up(BreakReason::Warning, "NumPy warns about an operation on scalars");
}

bool are_scalars(const Arguments& arguments, bool any_numpy) {
  if (arguments.keyword_names || arguments.values.empty()) return false;
  bool found = !any_numpy;
  for (const Ref& value : arguments.values) {
    const bool is_numpy = is_numpy_scalar(value.get());
    if (!is_numpy && !is_python_number(value.get())) return false;
    found |= is_numpy;
  }
  return found;
}

bool is_pure_scalar_method(PyObject* callable, const Arguments& arguments) noexcept {
  static constexpr std::string_view kNames[] = {"item",      "tolist", "astype",     "round",      "conj",
                                                "conjugate", "clip",   "is_integer", "__format__", "as_integer_ratio"};
  const bool is_bound = PyCFunction_Check(callable);
  if (!is_bound && (!Py_IS_TYPE(callable, &PyMethodDescr_Type) || !arguments.positional_count())) return false;
  PyObject* self = is_bound ? PyCFunction_GET_SELF(callable) : arguments.values[0].get();
  if (!self || !is_numpy_scalar(self)) return false;
  const std::string_view name = is_bound ? reinterpret_cast<PyCFunctionObject*>(callable)->m_ml->ml_name
                                         : reinterpret_cast<PyMethodDescrObject*>(callable)->d_method->ml_name;
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

bool is_numpy_function(PyObject* callable) noexcept {
  PyTypeObject* type = Py_TYPE(callable);
  return !PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) && std::string_view(type->tp_name) == "numpy.ufunc";
}

}  // namespace minidynamo
