// Operations of programs on frame objects, which stand for frames of the trace.
#include "library/rules/handlers.h"

#include "model/native/native_call.h"
#include "model/objects/frame_object.h"
#include "model/protocols/abstract.h"
#include "python/code/traceback.h"

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

namespace {

// The frame that a function of sys is asked for by its depth; null: none of the trace's.
Frame* frame_at(const Tracer& tracer, const Arguments& arguments) {
  long depth = arguments.values.empty() ? 0 : PyLong_AsLong(arguments.values[0].get());
  Frame* frame = tracer.frame;
  for (; frame && depth > 0; --depth) frame = frame->caller;
  if (!PyErr_Occurred()) return frame;
  clear_error();
  return nullptr;
}

bool is_depth(const Arguments& arguments) noexcept {
  const size_t count = arguments.values.size();
  return arguments.keyword_count() == 0 && count <= 1 && (count == 0 || PyLong_CheckExact(arguments.values[0].get()));
}

}  // namespace

// sys._getframe
Ref get_frame(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (!is_depth(arguments)) return call_natively(tracer, callable, arguments);
  Frame* frame = frame_at(tracer, arguments);
  if (Ref object = frame ? frame_object_of(*frame) : Ref()) return object;
  clear_error();
  return tracer.abort(BreakReason::FrameIntrospection, "the frame stack is read");
}

// sys._getframemodulename
Ref get_frame_module_name(Tracer& tracer, PyObject*, const Arguments& arguments) {
  if (Frame* frame = is_depth(arguments) ? frame_at(tracer, arguments) : nullptr)
    return load_attribute(tracer, frame->function.get(), "__module__"_name);
  return tracer.abort(BreakReason::FrameIntrospection, "the frame stack is read");
}

}  // namespace minidynamo::handlers
