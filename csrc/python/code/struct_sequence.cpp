#include "python/code/struct_sequence.h"

#include <structmember.h>
#include <structseq.h>

#include "python/named_item.h"
#include "python/process/out_of_memory.h"
#include "python/unstable.h"

namespace minidynamo {

bool is_struct_sequence_type(PyTypeObject* type) noexcept { return struct_sequence_size(type) >= 0; }

Py_ssize_t struct_sequence_size(PyTypeObject* type) noexcept {
  PyObject* names = type->tp_base == &PyTuple_Type ? namespace_of(type) : nullptr;
  if (!names || !named_item(names, "n_sequence_fields")) return -1;
  PyObject* size = named_item(names, "n_fields");
  return size && PyLong_CheckExact(size) ? PyLong_AsSsize_t(size) : -1;
}

const char* struct_sequence_field(PyTypeObject* type, Py_ssize_t index) noexcept {
  const auto item_size = static_cast<Py_ssize_t>(sizeof(PyObject*));
  const auto offset = static_cast<Py_ssize_t>(offsetof(PyTupleObject, ob_item)) + index * item_size;
  for (const PyMemberDef* member = type->tp_members; member && member->name; ++member)
    if (member->offset == offset && member->type == T_OBJECT) return member->name;
  return nullptr;
}

PyObject* struct_sequence_item(PyObject* object, Py_ssize_t index) noexcept {
  PyObject* item = reinterpret_cast<PyTupleObject*>(object)->ob_item[index];
  return item ? item : Py_None;
}

Ref make_struct_sequence(PyTypeObject* type, PyObject* fields) {
  Ref made = Ref::made(PyStructSequence_New(type));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(fields); ++i)
    PyStructSequence_SetItem(made.get(), i, Ref::borrow(PyTuple_GET_ITEM(fields, i)).release());
  PyObject_GC_Track(made.get());
  return made;
}

}  // namespace minidynamo
