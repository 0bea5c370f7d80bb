#include "world/external/tuple_fields.h"

#include "python/code/struct_sequence.h"
#include "python/process/out_of_memory.h"
#include "world/external/types.h"

namespace minidynamo {

Py_ssize_t field_count(PyObject* tuple) {
  PyTypeObject* type = Py_TYPE(tuple);
  const Py_ssize_t elements = PyTuple_GET_SIZE(tuple);
  const Py_ssize_t fields = type == &PyTuple_Type ? -1 : struct_sequence_size(type);
  if (fields < 0) return type == &PyTuple_Type || PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) ? elements : -1;
  bool is_known = true;
  for (Py_ssize_t i = elements; i < fields; ++i) is_known &= struct_sequence_field(type, i) != nullptr;
  if (!PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE))
    for (Py_ssize_t i = 0; i < fields; ++i) is_known &= is_constant(struct_sequence_item(tuple, i));
  return is_known ? fields : -1;
}

TupleField tuple_field(PyObject* tuple, Py_ssize_t index) {
  PyObject* const value = struct_sequence_item(tuple, index);
  if (index < PyTuple_GET_SIZE(tuple)) return {Access::Index, nullptr, value, static_cast<int32_t>(index)};
  return {Access::Attribute, Ref::made(PyUnicode_InternFromString(struct_sequence_field(Py_TYPE(tuple), index))), value,
          -1};
}

}  // namespace minidynamo
