#include "python/iterators.h"

namespace minidynamo {
namespace {

// CPython keeps these to itself (Objects/listobject.c, tupleobject.c, rangeobject.c).
static_assert(PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030C0000, "check the layout of iterators");
struct SequenceIterator {
  PyObject_HEAD Py_ssize_t index;
  PyObject* sequence;  // null when exhausted
};
struct RangeIterator {
  PyObject_HEAD long index, start, step, length;
};

}  // namespace

bool can_peek(PyTypeObject* type) noexcept {
  return type == &PyListIter_Type || type == &PyTupleIter_Type || type == &PyRangeIter_Type;
}

Ref peek_item(PyObject* iterator, Py_ssize_t ahead) noexcept {
  if (Py_IS_TYPE(iterator, &PyListIter_Type)) {
    auto* over = reinterpret_cast<SequenceIterator*>(iterator);
    const Py_ssize_t index = over->index + ahead;
    return over->sequence && index < PyList_GET_SIZE(over->sequence) ? Ref::borrow(PyList_GET_ITEM(over->sequence, index))
                                                                 : Ref();
  }
  if (Py_IS_TYPE(iterator, &PyTupleIter_Type)) {
    auto* over = reinterpret_cast<SequenceIterator*>(iterator);
    const Py_ssize_t index = over->index + ahead;
    return over->sequence && index < PyTuple_GET_SIZE(over->sequence) ? Ref::borrow(PyTuple_GET_ITEM(over->sequence, index))
                                                                  : Ref();
  }
  if (Py_IS_TYPE(iterator, &PyRangeIter_Type)) {
    auto* over = reinterpret_cast<RangeIterator*>(iterator);
    const Py_ssize_t index = over->index + ahead;
    Ref number = index < over->length ? Ref::steal(PyLong_FromLong(over->start + index * over->step)) : Ref();
    if (!number) PyErr_Clear();
    return number;
  }
  return nullptr;
}

PyObject* iterated_list(PyObject* iterator) noexcept {
  return Py_IS_TYPE(iterator, &PyListIter_Type)
             ? reinterpret_cast<SequenceIterator*>(iterator)->sequence
             : nullptr;
}

}  // namespace minidynamo
