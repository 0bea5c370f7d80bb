// Iterators of itertools taken apart and made again, field by field of their structs. Their __reduce__ would do, but it
// warns from CPython 3.12 on, and is gone in 3.14.
#pragma once
#include "python/ref.h"

namespace minidynamo {

bool is_of_itertools(PyTypeObject* type) noexcept;
// What it holds, as a tuple that `set_fields` takes. Null Ref without a Python error where the struct is not as
// expected.
Ref fields_of(PyObject* iterator);
// One without anything in it: no use to anybody before `set_fields`. Null with a Python error set.
Ref make_empty_iterator(PyTypeObject* type) noexcept;
void set_fields(PyObject* empty_iterator, PyObject* fields);

}  // namespace minidynamo
