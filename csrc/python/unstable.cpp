#include "python/unstable.h"

namespace minidynamo {

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
