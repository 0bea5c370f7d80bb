// A clock is read where the program reads it: before the graph runs, if nothing is computed yet (as a random number is
// drawn, world/proxies/drawn_number.h), or when it has run, if nothing is computed any more
// (world/proxies/runtime_value.h). In between the trace ends, since the graph has no place for it: what a program
// measures of its parts is what these take.
#include "library/rules/handlers.h"

#include <algorithm>

#include "python/native_function.h"
#include "python/process/out_of_memory.h"
#include "world/proxies/drawn_number.h"
#include "world/proxies/runtime_value.h"

namespace minidynamo::handlers {
namespace {

// read(clock), as a method that draws is given what it draws from
PyObject* read(PyObject*, PyObject* clock) { return PyObject_CallNoArgs(clock); }

PyObject* read_callable() { return native_function<METH_O, read>("read"); }

bool computes_nothing_yet(const Tracer& tracer) {
  return std::ranges::all_of(tracer.graph.nodes(),
                             [](const Node& node) { return node.kind == NodeKind::Placeholder || node.sets_mode; }) &&
         runtime_values(tracer).empty();
}

}  // namespace

Ref read_clock(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (!arguments.values.empty()) return tracer.abort(BreakReason::UnknownFunction, "the time is asked for");
  if (computes_nothing_yet(tracer)) {
    Ref number = draw_number(tracer, callable, read_callable(), Ref::made(PyTuple_New(0)));
    if (number || tracer.is_over()) return number;
  }
  return emit_runtime_value(tracer, {Ref::borrow(callable), Ref::made(PyTuple_New(0)), nullptr}, LateKind::Number);
}

}  // namespace minidynamo::handlers
