// The fields by which a tuple from before the trace enters it.
#pragma once
#include "python/ref.h"

namespace minidynamo {

class Tracer;
class Source;

// How many fields a tuple has, those that its length does not count included; -1 if its type may have other contents.
Py_ssize_t field_count(PyObject* tuple);

// Field `index` of a tuple, whose element it is or which gives it by name.
Ref enter_field(Tracer& tracer, Source* source, Py_ssize_t index);

}  // namespace minidynamo
