// Iterators of itertools taken apart and made again, field by field of their structs. Their __reduce__ would do, but it
// warns from CPython 3.12 on, and is gone in 3.14.
#pragma once
#include "python/ref.h"

namespace minidynamo {

bool is_of_itertools(PyTypeObject* type) noexcept;
// The values of an iterator's fields, as a tuple for `set_fields`. A null Ref without a Python error if the running
// CPython's struct is another one than that which is known here.
Ref fields_of(PyObject* iterator);
// An iterator whose fields are null, which must not be used before `set_fields`. A null Ref with a Python error set if
// it cannot be made.
Ref make_empty_iterator(PyTypeObject* type) noexcept;
void set_fields(PyObject* empty_iterator, PyObject* values);

}  // namespace minidynamo
