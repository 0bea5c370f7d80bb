// What programs ask of frame objects, which stand for frames of the trace.
#pragma once
#include "model/arguments.h"
#include "world/tracer.h"

namespace minidynamo::handlers {

Ref get_frame(Tracer& tracer, PyObject* callable, const Arguments& arguments);  // sys._getframe
Ref frame_clear(Tracer& tracer, PyObject* callable, const Arguments& arguments);

}  // namespace minidynamo::handlers
