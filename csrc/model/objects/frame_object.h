// Frame objects of frames that the trace runs: what sys._getframe() gives, and what stands in tracebacks.
#pragma once
#include "world/state/tracer.h"

namespace minidynamo {

// The frame object that stands for a frame. Null without a Python error if it cannot be made.
Ref frame_object_of(Frame& frame);
// The frame that one stands for, if it still runs.
Frame* running_frame_of(Tracer& tracer, PyObject* frame_object) noexcept;
// Of a frame object of the trace's.
Ref load_from_frame_object(Tracer& tracer, PyObject* frame_object, PyObject* name);

// What locals() gives in the frame: a dict that is brought up to date each time, or the namespace of a class body.
Ref locals_of(Tracer& tracer, Frame& frame);

}  // namespace minidynamo
