#include "model/objects/exception_context.h"

#include "world/external/known_types.h"
#include "world/external/pin.h"
#include "world/native/outer_handled_exception.h"

namespace minidynamo {

void guard_no_context(Tracer& tracer, PyObject* exception) {
  const auto* raised = reinterpret_cast<PyBaseExceptionObject*>(exception);
  if (!raised->traceback || raised->context || !was_nothing_handled_before()) return;
  Ref nothing = Ref::made(PyTuple_Pack(3, Py_None, Py_None, Py_None));
  guard_state(tracer, "sys.exc_info"_imported, "sys.exc_info", nothing.get());
}

Ref checked_context(Tracer& tracer, PyObject* exception, PyObject* name, Ref value) {
  if (!value || name != "__context__"_name || !PyExceptionInstance_Check(exception) ||
      tracer.world.source_of(exception))
    return value;
  if (was_handled_before(value.get()))
    return tracer.abort(BreakReason::FrameIntrospection, "the exception is read that the caller handles");
  guard_no_context(tracer, exception);
  return value;
}

}  // namespace minidynamo
