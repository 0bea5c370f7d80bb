// Traceback entries for frames that CPython never ran: the evaluator's, and those of residual code.
#pragma once
#include "python/ref.h"

namespace minidynamo {

// A frame object to stand in tracebacks for a frame of the evaluator: one that has lost its locals. Null without a
// Python error if it cannot be made.
Ref make_traceback_frame(PyCodeObject* code, PyObject* globals);
// True if a frame object holds no variables: one as above, or one that was cleared.
bool is_empty_frame(PyObject* frame) noexcept;
// Where the frame stands, in bytes of code.
void move_traceback_frame(PyObject* frame, int32_t offset) noexcept;
// An entry before `next`, which may be None. `offset` is in bytes. Null: an error.
Ref traceback_entry(PyObject* next, PyObject* frame, int32_t offset, int32_t line);
// Puts one (as PyTraceBack_Here does) before those of the current Python error.
void add_traceback(PyObject* frame, int32_t offset, int32_t line);

// True if a frame in an exception's traceback, whose call is over, has a variable with an object of which `test` is
// true.
bool any_kept_by_traceback(PyObject* exception, bool (*test)(PyObject*));

// Makes a traceback entry of residual code one of the program's: it shows the line of the first of `lines`, a list of
// (file, line, function), and the others come as entries behind it. No Python error is set.
void show_program_lines(PyObject* traceback, PyObject* lines);

}  // namespace minidynamo
