#define Py_BUILD_CORE 1
#include "python/unstable.h"

#undef HAVE_STD_ATOMIC
#include <internal/pycore_dict.h>
#include <internal/pycore_interp.h>

namespace minidynamo {

bool next_with_hash(PyObject* dict, Py_ssize_t& position, PyObject*& key, PyObject*& value, Py_hash_t& hash) noexcept {
  if (!PyDict_Next(dict, &position, &key, &value)) return false;
  PyDictKeysObject* keys = reinterpret_cast<PyDictObject*>(dict)->ma_keys;
  // A string knows its own. The position is behind the item's by now.
  hash = DK_IS_UNICODE(keys) ? PyObject_Hash(key) : DK_ENTRIES(keys)[position - 1].me_hash;
  return true;
}

Ref common_constant([[maybe_unused]] int32_t number) noexcept {
#if PY_VERSION_HEX >= 0x030E0000
  return Ref::borrow(PyInterpreterState_Get()->common_consts[number]);
#else
  return nullptr;
#endif
}

PyTypeObject* winning_metaclass(PyTypeObject* metaclass, PyObject* bases) noexcept {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(bases); ++i) {
    PyTypeObject* other = Py_TYPE(PyTuple_GET_ITEM(bases, i));
    if (PyType_IsSubtype(metaclass, other)) continue;
    if (!PyType_IsSubtype(other, metaclass)) {
      PyErr_SetString(PyExc_TypeError,
                      "metaclass conflict: the metaclass of a derived class must be a (non-strict) subclass of the "
                      "metaclasses of all its bases");
      return nullptr;
    }
    metaclass = other;
  }
  return metaclass;
}

}  // namespace minidynamo
