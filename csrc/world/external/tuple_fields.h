// The fields by which a tuple from before the trace enters it.
#pragma once
#include "guard/source.h"
#include "python/ref.h"

namespace minidynamo {

// The number of a tuple's fields, with those that its length does not count; -1 if its type may have other contents.
Py_ssize_t field_count(PyObject* tuple);

// The access to a field: it is an element of the tuple, or an attribute.
struct TupleField {
  Access access;
  Ref name;
  PyObject* value;  // borrowed
  int32_t index;
};
TupleField tuple_field(PyObject* tuple, Py_ssize_t index);

}  // namespace minidynamo
