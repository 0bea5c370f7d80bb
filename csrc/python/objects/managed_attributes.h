// Where CPython keeps the attributes of an instance whose class has Py_TPFLAGS_MANAGED_DICT: before the object, either
// inline or in a dict. For python/ alone; the file includes CPython's internal headers.
#pragma once
#ifndef Py_BUILD_CORE
#error "define Py_BUILD_CORE before Python.h"
#endif
#include <Python.h>
#undef HAVE_STD_ATOMIC
#include <internal/pycore_dict.h>
#include <internal/pycore_object.h>

#include <array>

namespace minidynamo {

static_assert(PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030F0000, "check where instances keep attributes");

// Null: there is a dict, or nothing yet.
inline PyDictValues* managed_values(PyObject* object) noexcept {
#if PY_VERSION_HEX < 0x030C0000
  return *_PyObject_ValuesPointer(object);
#elif PY_VERSION_HEX >= 0x030D0000
  // In the object, also where there is a dict, which may share them or not.
  if (!PyType_HasFeature(Py_TYPE(object), Py_TPFLAGS_INLINE_VALUES) || _PyObject_GetManagedDict(object)) return nullptr;
  PyDictValues* values = _PyObject_InlineValues(object);
  return values->valid ? values : nullptr;
#else
  const PyDictOrValues either = *_PyObject_DictOrValuesPointer(object);
  return _PyDictOrValues_IsValues(either) ? _PyDictOrValues_GetValues(either) : nullptr;
#endif
}

// Null: the attributes are inline, or there are none yet.
inline PyObject* managed_dict(PyObject* object) noexcept {
#if PY_VERSION_HEX < 0x030C0000
  return *_PyObject_ValuesPointer(object) ? nullptr : *_PyObject_ManagedDictPointer(object);
#elif PY_VERSION_HEX >= 0x030D0000
  return as_object(_PyObject_GetManagedDict(object));
#else
  const PyDictOrValues either = *_PyObject_DictOrValuesPointer(object);
  return _PyDictOrValues_IsValues(either) ? nullptr : _PyDictOrValues_GetDict(either);
#endif
}

// How many values there are, and which of them came first, second, ...
inline int count_of(const PyDictValues* values) noexcept {
#if PY_VERSION_HEX < 0x030D0000
  return reinterpret_cast<const uint8_t*>(values)[-2];
#else
  return values->size;
#endif
}
inline uint8_t index_of(PyDictValues* values, int order) noexcept {
#if PY_VERSION_HEX < 0x030D0000
  // Below the values lie, backwards: the size of the prefix, the count, then the indices.
  return reinterpret_cast<const uint8_t*>(values)[-3 - order];
#else
  return get_insertion_order_array(values)[order];
#endif
}

// The fields that say which.
inline auto managed_pointers(PyObject* object) noexcept {
#if PY_VERSION_HEX < 0x030C0000
  return std::array<const void*, 2>{_PyObject_ValuesPointer(object), _PyObject_ManagedDictPointer(object)};
#elif PY_VERSION_HEX >= 0x030D0000
  return std::array<const void*, 1>{_PyObject_ManagedDictPointer(object)};
#else
  return std::array<const void*, 1>{_PyObject_DictOrValuesPointer(object)};
#endif
}

}  // namespace minidynamo
