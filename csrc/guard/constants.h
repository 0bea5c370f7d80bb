// Constants: immutable objects that guards compare by value, exactly: same type, same bits, element by element.
//
// Runs no user code; leaves no Python error.
#pragma once
#include <string>

#include "python/ref.h"

namespace minidynamo {

// None, Ellipsis, NotImplemented, bool, int, float, complex, str, bytes, range, slice, torch.dtype, device, layout,
// memory_format and qscheme, and tuples, frozensets and torch.Size of such things. Everything else is compared by
// identity.
bool is_plain_constant(PyObject* object) noexcept;

// A tuple or frozenset of plain constants and of things known by name (classes, functions, code objects, enum members),
// which are compared by identity, at any depth.
bool is_constant_container(PyObject* object) noexcept;

// True for a float that is NaN and for a complex number with a NaN part. CPython hashes such a number by its address,
// and a container finds only the same object equal to it.
bool is_nan(PyObject* object) noexcept;

// Exact equality of two constants; what is no plain constant is equal to itself only. Frozensets must also iterate in
// the same order.
bool constants_equal(PyObject* a, PyObject* b) noexcept;

// Exact equality of two items or keys of containers: of two NaNs, whether they are one object.
bool items_equal(PyObject* a, PyObject* b) noexcept;

// True if others look into the buffer of a bytearray, which keeps its size then.
bool is_exported(PyObject* byte_array) noexcept;

// The plain value of an instance of a subclass of int, str, float, bytes or complex: an object of that very type, made
// without calling the subclass. For a bytearray that is not exported, its bytes. For another scalar of NumPy's, its
// bytes. Null if it is no such instance.
Ref plain_value(PyObject* object);
// True if an object holds that value.
bool has_plain_value(PyObject* object, PyObject* value) noexcept;

// How an object is shown to people: repr() of a constant, the name of a function, class or module, `<Type object>` for
// anything else.
std::string object_text(PyObject* object);

// The text of a str, as UTF-8.
std::string string_text(PyObject* string);

}  // namespace minidynamo
