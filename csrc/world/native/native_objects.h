// C types that a trace may make objects of, though all that such an object is lies in C.
//
// *Values* are immutable: constants, guarded by what they hold. *Own objects* change (a lock, a generator of random
// numbers, a text that is written to): the program may use one that the trace has made as it likes, since nothing
// else sees it; one from before the call is opaque. Where one outlives the trace, residual code makes another in the
// same state.
#pragma once
#include "python/ref.h"

namespace minidynamo {

// True if an object is one of those that each call makes anew, or a tuple with one.
bool holds_native_value(PyObject* object) noexcept;
// True if instances have their state in C; for a Python class, if those of the C class beneath it do.
bool is_own_native_type(PyTypeObject* type) noexcept;
inline bool is_own_native(PyObject* object) noexcept { return is_own_native_type(Py_TYPE(object)); }
// For a class derived from such a type: true if an instance can be made again.
bool is_known_subclass(PyTypeObject* type) noexcept;

// (class, state) from which native_object_callable() makes an object like this one, both of constants. Null, with or
// without a Python error: it cannot be had.
Ref native_object_state(PyObject* object);
PyObject* native_object_callable();

// A member of an enumeration of pybind11's (torch.nn.attention.SDPBackend.MATH): there is one of each value.
bool is_native_enum(PyObject* object) noexcept;
bool is_numpy_array(PyObject* object) noexcept;
// True for a lock that is held: to acquire it is to wait.
bool is_locked(PyObject* lock);

}  // namespace minidynamo
