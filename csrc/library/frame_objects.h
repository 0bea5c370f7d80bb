// What programs ask of frame objects, which stand for frames of the trace.
#pragma once
#include "model/arguments.h"
#include "world/tracer.h"

namespace minidynamo::handlers {

Ref get_frame(Tracer& tracer, PyObject* callable, const Arguments& arguments);              // sys._getframe
Ref get_frame_module_name(Tracer& tracer, PyObject* callable, const Arguments& arguments);  // sys._getframemodulename
Ref frame_clear(Tracer& tracer, PyObject* callable, const Arguments& arguments);

}  // namespace minidynamo::handlers
