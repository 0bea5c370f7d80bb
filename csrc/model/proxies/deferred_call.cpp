#include "model/proxies/deferred_call.h"

#include <algorithm>
#include <string_view>

#include "python/process/out_of_memory.h"
#include "world/external/known_types.h"
#include "world/external/types.h"
#include "world/native/native_code.h"
#include "world/proxies/runtime_value.h"
#include "world/proxies/symbolic_float.h"

namespace minidynamo {
namespace {

bool is_number_then(PyObject* object) {
  return is_deferred_number(object) || is_symbolic_float(object) || PyFloat_CheckExact(object) ||
         PyLong_CheckExact(object);
}

std::nullptr_t refuse(Tracer& tracer) {
  return tracer.abort(BreakReason::ScalarRead, "the program needs a number that is known when the graph has run");
}

// As the object may look then: for what must not raise there.
Ref example_of(PyObject* object) {
  if (is_deferred_number(object) || is_symbolic_float(object)) return Ref::made(PyFloat_FromDouble(0.5));
  if (is_deferred_text(object)) return Ref::made(PyUnicode_New(0, 0));
  if (!PyTuple_CheckExact(object)) return Ref::borrow(object);
  Ref tuple = Ref::made(PyTuple_New(PyTuple_GET_SIZE(object)));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i)
    PyTuple_SET_ITEM(tuple.get(), i, example_of(PyTuple_GET_ITEM(object, i)).release());
  return tuple;
}

// The text that a call makes. Null: it would raise, or the trace is given up.
Ref text_later(Tracer& tracer, PyObject* callable, Ref positional) {
  const Ref example = Ref::steal(PyObject_CallObject(callable, example_of(positional.get()).get()));
  if (!example || !PyUnicode_CheckExact(example.get())) return clear_error(), refuse(tracer);
  return emit_runtime_value(tracer, {Ref::borrow(callable), std::move(positional), nullptr}, LateKind::Text);
}

}  // namespace

bool is_constant_or_late(PyObject* object) {
  if (is_runtime_value(object) || is_constant(object)) return true;
  if (!PyTuple_CheckExact(object)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i)
    if (!is_constant_or_late(PyTuple_GET_ITEM(object, i))) return false;
  return true;
}

bool formats_runtime_values(PyObject* left, PyObject* right) {
  return PyUnicode_CheckExact(left) && PyTuple_CheckExact(right) && !is_constant(right) && is_constant_or_late(right);
}

Ref deferred_binary(Tracer& tracer, const char* operator_name, PyObject* left, PyObject* right) {
  const std::string_view name = std::string_view(operator_name).starts_with("i") ? operator_name + 1 : operator_name;
  const Ref function = import_object(("operator." + std::string(name)).c_str());
  Ref positional = Ref::made(PyTuple_Pack(2, left, right));
  if (name == "mod" && PyUnicode_CheckExact(left)) return text_later(tracer, function.get(), std::move(positional));
  // An operation that may raise has to raise at its place.
  const bool divides =
      name == "truediv" && (PyFloat_CheckExact(right) || PyLong_CheckExact(right)) && PyObject_IsTrue(right) == 1;
  if (!is_number_then(left) || !is_number_then(right) || !(name == "add" || name == "sub" || name == "mul" || divides))
    return refuse(tracer);
  const Ref example = Ref::steal(PyObject_CallObject(function.get(), example_of(positional.get()).get()));
  if (!example || !PyFloat_CheckExact(example.get())) return clear_error(), refuse(tracer);
  return emit_runtime_value(tracer, {function, std::move(positional), nullptr}, LateKind::Number);
}

Ref deferred_format(Tracer& tracer, PyObject* value, PyObject* spec, bool as_text) {
  if (as_text && spec) return refuse(tracer);
  if (spec && !PyUnicode_CheckExact(spec)) return refuse(tracer);
  if (is_deferred_text(value) && !spec) return Ref::borrow(value);
  if (as_text) return text_later(tracer, as_object(&PyUnicode_Type), Ref::made(PyTuple_Pack(1, value)));
  return text_later(tracer, "builtins.format"_imported,
                    spec ? Ref::made(PyTuple_Pack(2, value, spec)) : Ref::made(PyTuple_Pack(1, value)));
}

Ref deferred_join(Tracer& tracer, const std::vector<PyObject*>& parts) {
  const Ref all = Ref::made(PyTuple_New(static_cast<Py_ssize_t>(parts.size()))), empty = Ref::made(PyUnicode_New(0, 0));
  for (size_t i = 0; i < parts.size(); ++i)
    PyTuple_SET_ITEM(all.get(), static_cast<Py_ssize_t>(i), Ref::borrow(parts[i]).release());
  return text_later(tracer, "builtins.str.join"_imported, Ref::made(PyTuple_Pack(2, empty.get(), all.get())));
}

}  // namespace minidynamo
