#include "python/objects/set_table.h"

#include <algorithm>

#include "python/process/out_of_memory.h"
#include "python/unstable.h"

namespace minidynamo {
namespace {

// CPython keeps the use of the fields to itself (Objects/setobject.c): a table of `mask` + 1 entries, the small one in
// the object or one of PyMem_Malloc's; entries that were removed hold a dummy.
static_assert(PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030F0000, "check the layout of sets");

PySetObject* as_set(PyObject* object) noexcept { return reinterpret_cast<PySetObject*>(object); }

}  // namespace

bool copy_set_table(PyObject* empty, PyObject* from) noexcept {
  PySetObject *to = as_set(empty), *given = as_set(from);
  const Py_ssize_t size = given->mask + 1;
  setentry* table = to->smalltable;
  if (given->table != given->smalltable) {
    table = static_cast<setentry*>(PyMem_Malloc(static_cast<size_t>(size) * sizeof(setentry)));
    if (!table) return PyErr_NoMemory(), false;
  }
  std::copy_n(given->table, size, table);
  for (Py_ssize_t i = 0; i < size; ++i)
    if (table[i].key && table[i].key != _PySet_Dummy) Py_INCREF(table[i].key);
  if (to->table != to->smalltable) PyMem_Free(to->table);
  to->table = table;
  to->mask = given->mask;
  to->fill = given->fill;
  to->used = given->used;
  to->finger = given->finger;
  return true;
}

bool have_same_table(PyObject* a, PyObject* b) noexcept {
  const PySetObject *left = as_set(a), *right = as_set(b);
  return left->mask == right->mask && left->fill == right->fill && left->used == right->used &&
         std::equal(left->table, left->table + left->mask + 1, right->table,
                    [](const setentry& x, const setentry& y) { return x.key == y.key; });
}

Ref set_with_table_of(PyObject* set) {
  Ref made = Ref::steal(PyFrozenSet_Check(set) ? PyFrozenSet_New(nullptr) : PySet_New(nullptr));
  return made && copy_set_table(made.get(), set) ? made : Ref();
}

bool is_table_in_order(PyObject* set) {
  Ref filled = Ref::made(PySet_New(nullptr));
  Ref items = Ref::made(PyList_New(0));
  Py_ssize_t position = 0;
  PyObject* item;
  Py_hash_t hash;
  while (next_in_set(set, position, item, hash))
    if (PyList_Append(items.get(), item) < 0) return clear_error(), false;
  if (update_set(filled.get(), items.get()) < 0) return clear_error(), false;
  if (PyFrozenSet_Check(set)) filled = Ref::steal(PyFrozenSet_New(filled.get()));
  return filled && have_same_table(filled.get(), set);
}

}  // namespace minidynamo
