// Functions that the state of a trace needs from the rooms above it: declared here, defined there.
#pragma once
#include "world/state/trace_parts.h"

namespace minidynamo {

struct Frame;

// True if the frame must run as it is: something has looked at it, or its code can name a reader.
bool cannot_be_split(const Frame& frame, KnownReaders& known);  // library/python/frame_readers.cpp

// --- model/proxies/numpy_call.cpp

// The item of a traced array at an index.
Ref item_of_array(Tracer& tracer, PyObject* array, Py_ssize_t index);

}  // namespace minidynamo
