#include "library/torch/break_errors.h"

#include "library/rules/handlers.h"

#include "python/named_item.h"
#include "python/native_function.h"
#include "world/external/pin.h"

namespace minidynamo {
namespace {

constexpr signed char kNothingSaid = -1;
thread_local signed char said_by_trace = kNothingSaid;
thread_local bool said_by_program = false;

// torch._dynamo.error_on_graph_break leaves it in a variable of this module.
bool said_to_torch() noexcept {
  PyObject* module = named_item(PyImport_GetModuleDict(), "torch._dynamo.utils");
  return module && PyModule_Check(module) && named_item(PyModule_GetDict(module), "_error_on_graph_break") == Py_True;
}

PyObject* tell(PyObject*, PyObject*) { return PyBool_FromLong(said_by_program || said_to_torch()); }

PyObject* say(PyObject*, PyObject* value) {
  if (!PyBool_Check(value)) {
    PyErr_Format(PyExc_TypeError, "error_on_graph_break must be a bool, got %R", value);
    return nullptr;
  }
  said_by_program = value == Py_True;
  Py_RETURN_NONE;
}

}  // namespace

bool breaks_are_errors() noexcept {
  return said_by_trace != kNothingSaid ? said_by_trace != 0 : said_by_program || said_to_torch();
}

BreakErrorsOfTrace::BreakErrorsOfTrace() noexcept : before_(said_by_trace) {}
BreakErrorsOfTrace::~BreakErrorsOfTrace() { said_by_trace = before_; }

PyObject* break_errors_getter() { return native_function<METH_NOARGS, tell>("error_on_graph_break"); }
PyObject* break_errors_setter() { return native_function<METH_O, say>("set_error_on_graph_break"); }

namespace handlers {

Ref tell_break_errors(Tracer& tracer, PyObject*, const Arguments&) {
  const bool holds = breaks_are_errors();
  if (said_by_trace == kNothingSaid)
    guard_state(tracer, break_errors_getter(), "error_on_graph_break", holds ? Py_True : Py_False);
  return Ref::borrow(holds ? Py_True : Py_False);
}

Ref say_break_errors(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (arguments.positional_count() != 1 || arguments.keyword_names || !PyBool_Check(arguments.values[0].get()))
    return tracer.abort(BreakReason::UnknownFunction, "error_on_graph_break is given something that is no bool");
  said_by_trace = arguments.values[0].is(Py_True);
  tracer.effects.append_unordered_call(
      {Ref::borrow(callable), Ref::made(PyTuple_Pack(1, arguments.values[0].get())), nullptr});
  return Ref::none();
}

}  // namespace handlers

}  // namespace minidynamo
