// Functions that make or change objects of C code that a trace may have of its own (world/native/native_objects.h).
#include "library/rules/handlers.h"

#include "model/native/native_call.h"
#include "world/native/native_code.h"
#include "world/native/native_objects.h"

namespace minidynamo::handlers {
namespace {

// Handlers get the object that a method is bound to as the first argument.
Ref call_method_natively(Tracer& tracer, PyObject* method, const Arguments& arguments) {
  return call_natively(
      tracer, method,
      PyCFunction_Check(method) ? Arguments{arguments.values.subspan(1), arguments.keyword_names} : arguments);
}

}  // namespace

Ref make_native_object(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  return call_natively(tracer, callable, arguments);
}

// A lock that the trace made is held by the trace alone, so that no other thread releases it.
Ref lock_acquire(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  PyObject* lock = arguments.positional_count() ? arguments.values[0].get() : nullptr;
  if (!lock || !is_own_native(lock)) return call_method_natively(tracer, callable, arguments);
  if (!prepare_for_native(tracer, lock)) return nullptr;
  // acquire(False)
  const bool waits = arguments.values.size() < 2 || !arguments.values[1].is(Py_False);
  if (waits && is_locked(lock)) return tracer.abort(BreakReason::UnknownFunction, "the program waits for a lock");
  return call_method_natively(tracer, callable, arguments);
}

}  // namespace minidynamo::handlers
