// Traceback entries for frames that CPython never ran: the evaluator's, and those of residual code.
#pragma once
#include "python/ref.h"

namespace minidynamo {

// Puts an entry (as PyTraceBack_Here does) before those of the current Python error. `offset` is in bytes.
void add_traceback(PyCodeObject* code, PyObject* globals, int32_t offset, int32_t line);

}  // namespace minidynamo
