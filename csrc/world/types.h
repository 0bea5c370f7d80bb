// What is known of types: what a trace takes for a constant, what goes by its identity, which C types native code may
// work on.
#pragma once
#include "python/ref.h"

namespace minidynamo {

// May import modules: to be called before a trace starts.
void load_types();

// Small numbers and operators between them need no bookkeeping at all.
inline bool is_number(PyObject* object) noexcept {
  PyTypeObject* type = Py_TYPE(object);
  return type == &PyLong_Type || type == &PyFloat_Type || type == &PyBool_Type;
}

// None, numbers, strings, torch.dtype and the like, and tuples and frozensets of them: guarded by value.
bool is_constant(PyObject* object) noexcept;
// Those of them that are guarded by value whatever they hold.
bool is_exact_constant_type(PyTypeObject* type) noexcept;
bool is_torch_constant_type(PyTypeObject* type) noexcept;

// What matters of it is which object it is: functions of modules, classes, modules, descriptors. It does not change in
// ways that a trace reads unguarded.
bool is_guarded_by_identity(PyObject* object) noexcept;

// Fit for looking up in an outside dict without filling its stand-in: constants, and what hashes and compares by
// identity.
bool is_plain_key(PyObject* object) noexcept;

// A tuple, list, dict, set or deque, or an instance of a class derived from one.
bool is_container(PyObject* object) noexcept;
// The builtin container type whose layout an object has, or null.
PyTypeObject* container_base(PyTypeObject* type) noexcept;

// Builtin types all of whose methods compute from their arguments alone (str, list, dict, re.Pattern...).
bool is_plain_builtin_type(PyTypeObject* type) noexcept;

// C types whose getters and members tell only what guards can ask again: they run no Python code, change nothing, and
// give the same object while nothing has changed. Any other C type is not known.
bool has_known_attributes(PyTypeObject* type);

}  // namespace minidynamo
