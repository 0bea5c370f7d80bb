// Objects that CPython hashes and compares by an address: their own, or that of an object behind them.
#pragma once
#include "python/ref.h"

namespace minidynamo {

// The object that another one is hashed and compared by: what a bound method is bound to, what a weak reference leads
// to, the dict behind a view. Null: none.
PyObject* identity_behind(PyObject* object) noexcept;
// True if CPython makes an object's hash of an address.
bool is_hashed_by_address(PyObject* object) noexcept;

}  // namespace minidynamo
