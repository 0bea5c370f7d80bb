// Looking ahead in CPython's own iterators without moving them.
#pragma once
#include "python/ref.h"

namespace minidynamo {

// Iterators over a list (forwards), a tuple, a range or a dict.
bool can_peek(PyTypeObject* type) noexcept;
// How far a look ahead in a dict has come: `position` is CPython's, behind `passed` items.
struct DictWalk {
  Py_ssize_t passed = 0, position = 0;
};
// What the iterator gives after `ahead` other items; null Ref without a Python error if it ends before. A walk that is
// given is gone on with, and left behind that item.
Ref peek_item(PyObject* iterator, Py_ssize_t ahead, DictWalk* walk = nullptr) noexcept;
// Of an iterator over a dict: the dict (null if it is exhausted), how many items it has given, and whether the dict has
// changed its size since.
struct DictIteration {
  PyObject* dict = nullptr;
  Py_ssize_t given = 0;
  bool is_stale = false;
};
bool is_dict_iterator(PyTypeObject* type) noexcept;
DictIteration look_at_dict_iterator(PyObject* iterator) noexcept;

// The list or dict that an iterator walks over; null for other iterators and exhausted ones.
PyObject* iterated_container(PyObject* iterator) noexcept;

}  // namespace minidynamo
