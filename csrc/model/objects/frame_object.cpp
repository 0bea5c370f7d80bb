#include "model/objects/frame_object.h"

#include <string>
#include <string_view>

#include "python/code/code_object.h"
#include "python/code/traceback.h"
#include "python/process/out_of_memory.h"
#include "python/unstable.h"
#include "world/external/enter.h"
#include "world/external/scope.h"

namespace minidynamo {
namespace {

// The value of a variable, as locals() shows it; null Ref without a Python error: nothing.
Ref shown_value(Tracer& tracer, Frame& frame, int32_t index) {
  Ref& slot = frame.local(index);
  if (!slot && frame.has_lazy_local(index)) slot = touch_local(tracer, frame, index);
  if (!slot) return nullptr;
  const bool is_cell = frame.prepared->bytecode.localsplus_kinds[index] & (kFastCell | kFastFree);
  return is_cell && PyCell_Check(slot.get()) ? load_cell(tracer, slot.get()) : slot;
}

}  // namespace

Ref frame_object_of(Frame& frame) {
  Ref& shown = frame.shown_in_tracebacks;
  if (!shown) shown = make_traceback_frame(frame.code(), frame.globals.get());
  return shown;
}

Frame* running_frame_of(Tracer& tracer, PyObject* frame_object) noexcept {
  for (Frame* frame = tracer.frame; frame; frame = frame->caller)
    if (frame->shown_in_tracebacks.is(frame_object)) return frame;
  return nullptr;
}

Ref load_from_frame_object(Tracer& tracer, PyObject* frame_object, PyObject* name) {
  const std::string_view text = PyUnicode_AsUTF8(name);
  const bool is_of_run = text == "f_back" || text == "f_locals" || text == "f_lineno" || text == "f_lasti";
  const bool is_plain = text == "f_code" || text == "f_globals" || text == "clear" || text == "__class__";
  Frame* frame = running_frame_of(tracer, frame_object);
  if (is_plain || (is_of_run && text != "f_back" && text != "f_locals" && !frame))
    return Ref::steal(PyObject_GenericGetAttr(frame_object, name));
  if (!frame || !is_of_run)
    return tracer.abort(BreakReason::FrameIntrospection, "the " + std::string(text) + " of a frame object is read");
  if (text == "f_lineno") return Ref::made(PyLong_FromLong(frame->line()));
  if (text == "f_lasti") return Ref::made(PyLong_FromLong(frame->current().offset));
  if (text == "f_locals") {
    if (kLocalsAreSnapshots && !frame->locals_mapping)
      return tracer.abort(BreakReason::FrameIntrospection,
                          "a mapping that writes to a function's variables is asked for");
    return locals_of(tracer, *frame);
  }
  if (!frame->caller) return tracer.abort(BreakReason::FrameIntrospection, "the frame of the caller is asked for");
  Ref back = frame_object_of(*frame->caller);
  return back ? back : tracer.abort(BreakReason::FrameIntrospection, "the frame stack is read");
}

Ref locals_of(Tracer& tracer, Frame& frame) {
  if (frame.locals_mapping) return frame.locals_mapping;
  if (frame.is_of_resume_function())
    return tracer.abort(BreakReason::FrameIntrospection, "the variables of a frame that was cut are asked for");
  Ref shown = frame.locals_dict ? frame.locals_dict : Ref::made(PyDict_New());
  if (!kLocalsAreSnapshots) frame.locals_dict = shown;
  PyObject* dict = shown.get();
  for (int32_t i = 0; i < frame.prepared->locals_count; ++i) {
    PyObject* name = local_name(frame, i);
    Ref value = shown_value(tracer, frame, i);
    if (!value && PyErr_Occurred()) return nullptr;
    if (value) {
      if (!materialize_if_shadow(tracer, value.get()) || PyDict_SetItem(dict, name, value.get()) < 0) return nullptr;
    } else if (PyDict_DelItem(dict, name) < 0) {
      clear_error();
    }
  }
  return shown;
}

}  // namespace minidynamo
