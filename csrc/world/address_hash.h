// What is hashed and compared by an address: its own, or that of another object.
#pragma once
#include "python/ref.h"

namespace minidynamo {

// The object that another one is hashed and compared by: what a bound method is bound to, what a weak reference leads
// to, the dict behind a view. Null: none.
PyObject* identity_behind(PyObject* object) noexcept;
// Whether an object's hash is its own address, or made of that of another.
bool is_hashed_by_address(PyObject* object) noexcept;

}  // namespace minidynamo
