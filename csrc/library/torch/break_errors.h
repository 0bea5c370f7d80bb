// error_on_graph_break: the parts of a program in which a graph break is an error, and those in it in which it is none.
//
// The program says so while it runs, so a trace reads what holds around it, follows what the traced code says in the
// meantime, and leaves it to the residual code to say it for real.
#pragma once
#include "model/protocols/arguments.h"
#include "world/state/tracer.h"

namespace minidynamo {

// At the place where this thread is, in a trace or not.
bool breaks_are_errors() noexcept;

// The state that a trace sets ends with the scope.
class BreakErrorsOfTrace {
 public:
  BreakErrorsOfTrace() noexcept;
  ~BreakErrorsOfTrace();
  BreakErrorsOfTrace(const BreakErrorsOfTrace&) = delete;

 private:
  signed char before_;
};

// For Python: error_on_graph_break() tells, set_error_on_graph_break(bool) says. Borrowed.
PyObject* break_errors_getter();
PyObject* break_errors_setter();

}  // namespace minidynamo
