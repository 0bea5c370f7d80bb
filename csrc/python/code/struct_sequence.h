// Tuples with names that C code makes: time.struct_time, os.stat_result, torch.return_types.max. Beside the elements of
// the tuple such an object may have fields that its length does not count and that are read by name alone.
#pragma once
#include "python/ref.h"

namespace minidynamo {

bool is_struct_sequence_type(PyTypeObject* type) noexcept;

// Elements and further fields together; -1 for another type. Only for the type of an existing object.
Py_ssize_t struct_sequence_size(PyTypeObject* type) noexcept;

// The name by which the type reads field `index`. Null without a Python error: the field has no name.
const char* struct_sequence_field(PyTypeObject* type, Py_ssize_t index) noexcept;

// Borrowed. Beyond the elements too; None where C code left the field empty, as the attribute says then.
PyObject* struct_sequence_item(PyObject* object, Py_ssize_t index) noexcept;

// Makes an instance of the type from a tuple with all fields. Runs no __new__ of the type, which may want something
// else.
Ref make_struct_sequence(PyTypeObject* type, PyObject* fields);

}  // namespace minidynamo
