// The conventions that text depends on besides its contents: the locale of the process, and the registries of codecs
// and of their error handlers, which the program may add to.
//
// Numbers by the locale (format(v, "n")) are guarded by the name of the locale. Dates by it (strftime), and codecs that
// CPython does not have built in, are a break. Each function is asked before the C code is called; false: the trace has
// been given up, or there is a Python error.
#pragma once
#include "model/protocols/arguments.h"
#include "world/state/tracer.h"

namespace minidynamo {

// format(value, spec), and what stands in the braces of an f-string.
bool can_format(Tracer& tracer, PyObject* value, PyObject* spec);
// A method of a builtin type; `self` is the object that it works on, or null.
bool can_call_text_method(Tracer& tracer, PyObject* callable, PyObject* self, const Arguments& arguments);
// str(bytes, encoding, errors), bytes(text, encoding, errors), bytearray(text, encoding, errors).
bool can_make_text(Tracer& tracer, PyTypeObject* type, const Arguments& arguments);

}  // namespace minidynamo
