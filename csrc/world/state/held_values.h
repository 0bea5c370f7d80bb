// The values that an argument of a call holds: itself, or the items of the tuples, lists, dicts and slices that it is
// made of.
#pragma once
#include "python/process/nesting.h"

namespace minidynamo {

namespace detail {

// True if one of the elements is a container itself.
inline bool is_nested(PyObject* object) noexcept {
  if (PyDict_Check(object)) return true;
  if (!PyTuple_Check(object) && !PyList_Check(object)) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(object, i);
    if (PyTuple_Check(item) || PyList_Check(item) || PyDict_Check(item)) return true;
  }
  return false;
}

// `visited` null: nothing can be met twice.
template <typename Is>
bool any_held(PyObject* object, const Is& is, Visited* visited) {
  if (is(object)) return true;
  NestingLevel level;
  if (level.is_too_deep()) return false;
  const bool is_sequence = PyTuple_Check(object) || PyList_Check(object);
  if (visited && (is_sequence || PyDict_Check(object)) && !visited->add(object)) return false;
  if (is_sequence) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i)
      if (any_held(PySequence_Fast_GET_ITEM(object, i), is, visited)) return true;
  } else if (PyDict_Check(object)) {
    Py_ssize_t position = 0;
    PyObject *key, *value;
    while (PyDict_Next(object, &position, &key, &value))
      if (any_held(value, is, visited)) return true;
  } else if (PySlice_Check(object)) {
    auto* slice = as_slice(object);
    return any_held(slice->start, is, visited) || any_held(slice->stop, is, visited) ||
           any_held(slice->step, is, visited);
  }
  return false;
}

}  // namespace detail

// True if `is` holds for the object or for something in it. Operators take nothing that is nested very deep.
template <typename Is>
bool any_held(PyObject* object, const Is& is) {
  if (!detail::is_nested(object)) return detail::any_held(object, is, nullptr);
  Visited visited;
  return detail::any_held(object, is, &visited);
}

}  // namespace minidynamo
