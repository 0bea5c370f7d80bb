// Lists and tuples, made of owned references and taken apart into them.
#pragma once
#include <vector>

#include "python/ref.h"

namespace minidynamo {

template <typename Items>  // a range of Ref
Ref tuple_of(const Items& items) {
  Ref tuple = Ref::made(PyTuple_New(static_cast<Py_ssize_t>(items.size())));
  for (size_t i = 0; i < items.size(); ++i)
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), Ref(items[i]).release());
  return tuple;
}

template <typename Items>
Ref list_of(const Items& items) {
  return Ref::made(PySequence_List(tuple_of(items).get()));
}

inline Ref list_of_numbers(const std::vector<long>& numbers) {
  std::vector<Ref> items;
  for (const long number : numbers) items.push_back(Ref::made(PyLong_FromLong(number)));
  return list_of(items);
}

// The items of a list or a tuple.
inline std::vector<Ref> items_of(PyObject* sequence) {
  std::vector<Ref> items;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(sequence); ++i)
    items.push_back(Ref::borrow(PySequence_Fast_GET_ITEM(sequence, i)));
  return items;
}

}  // namespace minidynamo
