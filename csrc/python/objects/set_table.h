// The hash tables of sets. The order in which a set iterates follows from its table, which depends on all that was ever
// added and removed; so a set that is to behave like another needs the same table.
#pragma once
#include "python/ref.h"

namespace minidynamo {

// Puts the elements of another set into an empty set or frozenset, in the same places. False with MemoryError.
bool copy_set_table(PyObject* empty, PyObject* from) noexcept;
// True if two sets have the same objects in the same places.
bool have_same_table(PyObject* a, PyObject* b) noexcept;
// A set, or frozenset, with the table of another set. Null with a Python error set.
Ref set_with_table_of(PyObject* set);
// True if a set that gets the elements of this one in the order of iteration, one by one, has the same table.
bool is_table_in_order(PyObject* set);

}  // namespace minidynamo
