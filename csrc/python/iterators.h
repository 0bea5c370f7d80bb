// Looking ahead in CPython's own iterators without moving them.
#pragma once
#include "python/ref.h"

namespace minidynamo {

// Iterators over a list (forwards), a tuple or a range.
bool can_peek(PyTypeObject* type) noexcept;
// What the iterator gives after `ahead` other items; null Ref without a Python error if it ends before.
Ref peek_item(PyObject* iterator, Py_ssize_t ahead) noexcept;
// The list that an iterator walks over; null for other iterators and exhausted ones.
PyObject* iterated_list(PyObject* iterator) noexcept;

}  // namespace minidynamo
