// print(), and what is written to the streams of text that CPython prints to.
#pragma once
#include "model/arguments.h"
#include "world/tracer.h"

namespace minidynamo::handlers {

Ref builtin_print(Tracer& tracer, PyObject* callable, const Arguments& arguments);
// _io.TextIOWrapper.write and flush.
Ref stream_write(Tracer& tracer, PyObject* callable, const Arguments& arguments);
Ref stream_flush(Tracer& tracer, PyObject* callable, const Arguments& arguments);

}  // namespace minidynamo::handlers
