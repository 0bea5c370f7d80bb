// Reads the cache of a function behind functools.lru_cache without calling the function, which would count as a call.
#pragma once
#include "python/ref.h"
#include "python/version/dict_version.h"

namespace minidynamo {

// The class of such functions; null with a Python error set if it cannot be had.
PyTypeObject* lru_cache_type();

// The function behind the cache, whatever its `__wrapped__` says; borrowed.
PyObject* function_behind_lru_cache(PyObject* function) noexcept;

// The key that a call has in the cache, as functools makes it. Null with a Python error set on failure.
Ref lru_cache_key(PyObject* function, PyObject* positional, PyObject* keywords);

// The result under a key whose parts all compare natively (compares_natively); borrowed.
Lookup find_in_lru_cache(PyObject* function, PyObject* key, PyObject*& result) noexcept;

// True if results have to make room when `more` come.
bool lru_cache_overflows(PyObject* function, Py_ssize_t more) noexcept;

// (bound or None, is it typed, hits, misses, ((arguments, result), ...)), oldest first. Null, with or without a Python
// error: which arguments a key is made of cannot be told.
Ref lru_cache_contents(PyObject* function);
// For residual code: (function, contents, attributes) -> a cached function that has kept them.
PyObject* lru_cache_again_callable();

}  // namespace minidynamo
