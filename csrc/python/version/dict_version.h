// Reads what CPython knows about dicts and instance attributes beneath its public API: version tags, instance dicts
// without creating them, and lookups that never run user code.
//
// All results are borrowed references. No function leaves a Python error set, allocates Python objects, or calls into
// Python. Callers hold the GIL and keep the object alive.
#pragma once
#include <cstdint>

#include "python/ref.h"
#include "python/version/dict_watcher.h"

namespace minidynamo {

// True where a watcher (python/version/dict_watcher.h) counts the versions of dicts instead of CPython. CPython 3.14
// does not count them. CPython 3.13 does, but the values of an instance's __dict__ may lie in the instance, where a
// store of an attribute writes them without a new version. Watchers of 3.13.0 miss these writes, too (python/cpython
// issue 125608).
inline bool versions_are_watched() noexcept {
#if PY_VERSION_HEX >= 0x030E0000
  return true;
#elif PY_VERSION_HEX >= 0x030D0000
  return Py_Version >= 0x030D0100;
#else
  return false;
#endif
}

// The address of the dict's version. Null: it has none, since the dict would have to be watched and cannot be.
inline const uint64_t* version_address(PyObject* dict) noexcept {
#if PY_VERSION_HEX >= 0x030D0000
  if (versions_are_watched()) return watched_version(dict);
#endif
#if PY_VERSION_HEX >= 0x030E0000
  return nullptr;
#else
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  return &reinterpret_cast<PyDictObject*>(dict)->ma_version_tag;
#pragma GCC diagnostic pop
#endif
}

// A number that no other dict and no other state of this dict ever had or will have (PEP 509): equal to an earlier one
// only if it is the same dict, alive since, with the same keys and the very same value objects.
inline uint64_t dict_version(PyObject* dict) noexcept {
  const uint64_t* address = version_address(dict);
#if PY_VERSION_HEX >= 0x030D0000
  if (!address) return fresh_version();
#endif
  return *address;
}

// True for the __dict__ of an instance whose keys lie in the table that all instances of its class share.
inline bool shares_keys(PyObject* dict) noexcept { return reinterpret_cast<PyDictObject*>(dict)->ma_values != nullptr; }

// The same, or 0 where it does not move with each change.
inline uint64_t exact_version(PyObject* dict) noexcept {
  if (PY_VERSION_HEX >= 0x030D0000 && !versions_are_watched() && shares_keys(dict)) return 0;
  const uint64_t* address = version_address(dict);
  return address ? *address : 0;
}

// CPython's specialized attribute store (STORE_ATTR_WITH_HINT) writes a new value into an instance's dict, lets the old
// value die, which may run code, and only then sets the dict's new version. Where this is so, an equal version has to
// be backed by the values that can run code when they die. It does not write to dicts that share their keys. Watchers
// hear of a change before it.
inline bool version_may_lag(PyObject* dict) noexcept { return !versions_are_watched() && !shares_keys(dict); }

// The value at the hint that `dict_item` returned for a dict, at the same version.
PyObject* dict_value_at(PyObject* dict, uint32_t hint) noexcept;

// True if comparing the object with another such object runs C code only (builtin scalars, strings, tuples of them, and
// whatever compares by identity). Such objects are fit to be keys of `dict_item`.
bool compares_natively(PyObject* object) noexcept;

enum class Lookup : uint8_t {
  Found,
  Absent,
  Undecided,  // a key of equal hash in the way would need user code to compare
};

// dict[key] for any dict or instance of a subclass, beneath an overridden __getitem__. `hash` is the key's; `hint` is
// where it was found last time, updated (start with 0).
Lookup dict_item(PyObject* dict, PyObject* key, Py_hash_t hash, uint32_t& hint, PyObject*& value) noexcept;

// The instance's __dict__ if it exists as an object; null if the instance has none or keeps its attributes inline.
PyObject* instance_dict(PyObject* object) noexcept;

// The dict that keys(), values() or items() gave a view of.
PyObject* dict_of_view(PyObject* view) noexcept;

// True if instances of the type have a __dict__ at all.
inline bool has_instance_dict(PyTypeObject* type) noexcept { return type->tp_dictoffset != 0; }

// True if the instance keeps its attributes inline, that is, has a __dict__ that does not exist as an object yet.
bool has_inline_attributes(PyObject* object) noexcept;

// The instance's own attribute, in whichever form it is kept; null if absent. `name` is an interned str.
PyObject* instance_attribute(PyObject* object, PyObject* name) noexcept;
Lookup instance_attribute(PyObject* object, PyObject* name, Py_hash_t hash, uint32_t& hint, PyObject*& value) noexcept;

// Inline attributes only (has_inline_attributes): the same, and how many there are, and the n-th in order of insertion.
PyObject* inline_attribute(PyObject* object, PyObject* name, Py_hash_t hash, uint32_t& hint) noexcept;
Py_ssize_t inline_attribute_count(PyObject* object) noexcept;
// Calls visit(name, value) in order of insertion until it returns false; false if it did.
using AttributeVisitor = bool (*)(void* state, PyObject* name, PyObject* value);
bool visit_inline_attributes(PyObject* object, AttributeVisitor visit, void* state) noexcept;

}  // namespace minidynamo
