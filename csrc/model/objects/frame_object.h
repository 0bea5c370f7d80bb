// Frame objects of frames that the trace runs: sys._getframe() returns them, and tracebacks hold them.
#pragma once
#include "world/state/tracer.h"

namespace minidynamo {

// The frame object that stands for a frame. Null without a Python error if it cannot be made.
Ref frame_object_of(Frame& frame);
// The frame that one stands for, if it still runs.
Frame* running_frame_of(Tracer& tracer, PyObject* frame_object) noexcept;
// An attribute of a frame object that the trace made.
Ref load_from_frame_object(Tracer& tracer, PyObject* frame_object, PyObject* name);

// The dict that locals() returns in the frame: it is brought up to date each time, or is the namespace of a class body.
Ref locals_of(Tracer& tracer, Frame& frame);

}  // namespace minidynamo
