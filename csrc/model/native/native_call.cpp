// Calls of C code, as it is.
#include "model/native/native_call.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "model/native/native_callback.h"
#include "model/protocols/arguments.h"
#include "model/protocols/items_read.h"
#include "python/code/bound_method.h"
#include "python/process/out_of_memory.h"
#include "world/external/class_lookup.h"
#include "world/native/native_code.h"
#include "world/native/unheard_call.h"

namespace minidynamo {
namespace {

// pybind11 binds its functions to records of its own, by which CPython names them.
bool is_bound_to_record(PyObject* callable) noexcept {
  PyObject* self = PyCFunction_Check(callable) ? PyCFunction_GET_SELF(callable) : nullptr;
  return self && (PyCapsule_CheckExact(self) ||
                  std::string_view(Py_TYPE(self)->tp_name).find("pybind11") != std::string_view::npos);
}

}  // namespace

bool may_warn(PyObject* callable) noexcept {
  static constexpr std::string_view kMethods[] = {"utcnow", "utcfromtimestamp", "index", "__setstate__", "__reduce__"};
  if (PyType_Check(callable)) {
    const PyTypeObject* type = as_type(callable);
    return type->tp_new == PyLong_Type.tp_new || type->tp_new == PyFloat_Type.tp_new ||
           type->tp_new == PyComplex_Type.tp_new || std::string_view(type->tp_name) == "array.array";
  }
  if (!PyCFunction_Check(callable) && !Py_IS_TYPE(callable, &PyMethodDescr_Type)) return false;
  const std::string_view name = PyCFunction_Check(callable)
                                    ? as_builtin(callable)->m_ml->ml_name
                                    : reinterpret_cast<PyMethodDescrObject*>(callable)->d_method->ml_name;
  return name.ends_with("decode") || std::ranges::find(kMethods, name) != std::end(kMethods);
}

std::string callable_name(PyObject* callable) {
  const char* const full_name = is_bound_to_record(callable) ? "__name__" : "__qualname__";
  for (const char* attribute : {full_name, "__name__"}) {
    Ref name = Ref::steal(PyObject_GetAttrString(callable, attribute));
    if (name && PyUnicode_Check(name.get())) {
      Ref module = Ref::steal(PyObject_GetAttrString(callable, "__module__"));
      clear_error();
      std::string prefix =
          module && PyUnicode_Check(module.get()) ? PyUnicode_AsUTF8(module.get()) + std::string(".") : "";
      return prefix + PyUnicode_AsUTF8(name.get());
    }
    clear_error();
  }
  return Py_TYPE(callable)->tp_name;
}

std::vector<PyObject*> vectorcall_values(const Arguments& arguments) {
  std::vector<PyObject*> values = {nullptr};
  values.reserve(arguments.values.size() + 1);
  for (const Ref& value : arguments.values) values.push_back(value.get());
  return values;
}

Ref call_natively(Tracer& tracer, PyObject* callable, const Arguments& given) {
  std::vector<Ref> room;
  Arguments arguments = wrap_python_callbacks(callable, given, room);
  if (PyErr_Occurred() || !prepare_items_read(tracer, callable, arguments, room)) return nullptr;
  // A class method may make an instance itself: dict.fromkeys.
  if (PyObject* self = bound_self(callable); self && (PyCFunction_GET_FLAGS(callable) & METH_CLASS)) {
    if (refuses_finalizer(tracer, as_type(self))) return nullptr;
  }
  if (!expose_all(tracer, arguments.values, SetOrder::Ignored) ||
      !knows_orders_read(tracer, callable, arguments.values))
    return nullptr;
  std::vector<PyObject*> values = vectorcall_values(arguments);
  const ModeBypass unheard;
  std::optional<WarningTrap> trap;
  if (may_warn(callable)) trap.emplace();
  Ref result = Ref::steal(PyObject_Vectorcall(callable, values.data() + 1,
                                              arguments.positional_count() | PY_VECTORCALL_ARGUMENTS_OFFSET,
                                              arguments.keyword_names));
  if (trap && (!trap->is_set() || trap->has_caught())) return refuse_what_warns(tracer, callable_name(callable));
  return adopt_result(tracer, std::move(result));
}

}  // namespace minidynamo
