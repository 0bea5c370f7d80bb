// Annotations that are evaluated when they are asked for, from CPython 3.14 on (PEP 649).
#include "library/rules/handlers.h"

#include "model/objects/function.h"
#include "model/protocols/abstract.h"
#include "python/process/out_of_memory.h"

namespace minidynamo::handlers {

// With places for names that are not defined (FORWARDREF), which typing and dataclasses ask for, CPython runs the code
// among names of its own making. Where every name is defined, the annotations are the values.
Ref call_annotate(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  constexpr long kValue = 1, kForwardReferences = 3;
  PyObject* format = arguments.positional_count() == 2 ? arguments.values[1].get() : nullptr;
  if (!format || !PyLong_Check(format) || PyLong_AsLong(format) != kForwardReferences)
    return call_function(tracer, callable, arguments);
  const Ref annotate = arguments.values[0];
  Ref found = call(tracer, annotate.get(), {Ref::borrow(format)});
  if (found || tracer.is_over() || !PyErr_ExceptionMatches(PyExc_NotImplementedError)) return found;
  clear_error();
  found = call(tracer, annotate.get(), {Ref::made(PyLong_FromLong(kValue))});
  if (found || tracer.is_over()) return found;
  clear_error();
  return tracer.abort(BreakReason::UnsupportedObject, "annotations that cannot be evaluated yet");
}

}  // namespace minidynamo::handlers
