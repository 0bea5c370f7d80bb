// Looking ahead in CPython's own iterators without moving them.
#pragma once
#include "python/ref.h"

namespace minidynamo {

// Iterators over a list, a tuple, a range, a dict, a set, a str or bytes; over a list or a tuple also backwards.
bool can_peek(PyObject* iterator) noexcept;
// How far a look ahead in a dict or a set has come: `position` is CPython's, behind `passed` items.
struct DictWalk {
  Py_ssize_t passed = 0, position = 0;
};
// The item that the iterator yields after `ahead` other items; null Ref without a Python error if it ends before.
// Continues the walk that is passed, and leaves it behind that item.
Ref peek_item(PyObject* iterator, Py_ssize_t ahead, DictWalk* walk = nullptr) noexcept;
// The places that an iterator over a dict goes through, those of deleted items among them.
Py_ssize_t places_in_dict(PyObject* dict) noexcept;
// The method of dict or OrderedDict that returns a view, or the view under an iterator, of the type.
Ref view_method(PyTypeObject* type);
// Where an iterator over a dict stands.
struct DictIteration {
  PyObject* dict = nullptr;  // null if it is exhausted
  Py_ssize_t passed = 0;     // items of the dict as it is now that lie behind
  Py_ssize_t beyond = 0;  // places beyond the dict's last, where it was cleared since; what is put there is passed over
  Py_ssize_t size = 0;    // that the dict is to have at the next step
  Py_ssize_t left = 0;    // steps that it believes to have before it
};
bool is_dict_iterator(PyTypeObject* type) noexcept;
// True if the dict has changed its size since: the next step is an error.
bool is_stale_dict_iterator(PyObject* iterator) noexcept;
// True if it has given as many items as the dict had by then: another one is an error (keys were put in for others).
bool is_beyond_size(PyObject* dict_iterator, Py_ssize_t ahead) noexcept;
DictIteration look_at_dict_iterator(PyObject* iterator) noexcept;
// A new iterator over a dict of equal items put there.
void place_dict_iterator(PyObject* iterator, const DictIteration& at) noexcept;

// str_ascii_iterator, which CPython has beside str_iterator and keeps to itself.
bool is_ascii_iterator(PyTypeObject* type) noexcept;

// Where an iterator over a set or a frozenset stands.
struct SetIteration {
  PyObject* set = nullptr;  // null if it is exhausted
  Py_ssize_t passed = 0;    // elements that lie behind
  bool is_stale = false;    // the set has changed its size since: the next step is an error
};
SetIteration look_at_set_iterator(PyObject* iterator) noexcept;

// Where an iterator stands that goes backwards over a dict, or either way over a deque.
struct WalkedIteration {
  PyObject* container = nullptr;  // null if it is exhausted
  Py_ssize_t passed = 0;          // items of the container as it is now that it has given
  bool is_stale = false;          // the container has changed since
};
WalkedIteration look_at_dict_iterator_backwards(PyObject* iterator) noexcept;
WalkedIteration look_at_deque_iterator(PyObject* iterator) noexcept;

// The dict and the view of it that an iterator over an OrderedDict walks over.
struct OrderedDictIteration {
  PyObject* dict = nullptr;  // null if it is exhausted
  PyTypeObject* view = nullptr;
  bool is_forward = true;
};
OrderedDictIteration look_at_ordered_dict_iterator(PyObject* iterator) noexcept;

// Where an iterator over a list stands, forwards or backwards, which may be behind the list's end; a new one put there.
// (__setstate__ does not go behind the end, though the list may grow.)
Py_ssize_t list_iterator_index(PyObject* iterator) noexcept;
void place_list_iterator(PyObject* iterator, Py_ssize_t index) noexcept;

// enumerate, zip, map and filter: what they were made from tells all about them.
inline bool is_made_of_iterators(PyTypeObject* type) noexcept {
  return type == &PyEnum_Type || type == &PyZip_Type || type == &PyMap_Type || type == &PyFilter_Type;
}

// The list, dict or set that an iterator walks over; null for other iterators and exhausted ones.
PyObject* iterated_container(PyObject* iterator) noexcept;

}  // namespace minidynamo
