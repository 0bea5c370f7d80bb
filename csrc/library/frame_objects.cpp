// What programs ask of frame objects, which stand for frames of the trace.
#include "library/frame_objects.h"

#include "model/frame_object.h"
#include "model/native_call.h"
#include "python/traceback.h"

namespace minidynamo::handlers {

// A frame object that stands in a traceback for a frame of the trace has no variables: those are gone since it ended.
Ref frame_clear(Tracer& tracer, PyObject*, const Arguments& arguments) {
  PyObject* object = arguments.values.size() == 1 && !arguments.keyword_names ? arguments.values[0].get() : nullptr;
  if (!object || !PyFrame_Check(object) || tracer.world.source_of(object) || !is_empty_frame(object))
    return tracer.abort(BreakReason::FrameIntrospection, "a frame object from before the call is cleared");
  if (!running_frame_of(tracer, object)) return Ref::none();
  PyErr_SetString(PyExc_RuntimeError, "cannot clear an executing frame");
  return nullptr;
}

Ref get_frame(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  const size_t count = arguments.values.size();
  if (arguments.keyword_names || count > 1 || (count == 1 && !PyLong_CheckExact(arguments.values[0].get())))
    return call_natively(tracer, callable, arguments);
  long depth = count ? PyLong_AsLong(arguments.values[0].get()) : 0;
  Frame* frame = tracer.frame;
  for (; frame && depth > 0; --depth) frame = frame->caller;
  Ref object = frame && !PyErr_Occurred() ? frame_object_of(*frame) : Ref();
  if (object) return object;
  clear_error();
  return tracer.abort(BreakReason::FrameIntrospection, "the frame stack is read");
}

}  // namespace minidynamo::handlers
