#define Py_BUILD_CORE 1
#include "python/objects/iterators.h"

#include <algorithm>
#include <cstring>

// CPython's internal headers, after Python.h.
#undef HAVE_STD_ATOMIC
#include <internal/pycore_dict.h>

#include "python/process/out_of_memory.h"
#include "python/unstable.h"

namespace minidynamo {
namespace {

// CPython keeps these to itself (Objects/listobject.c, tupleobject.c, rangeobject.c, odictobject.c).
static_assert(PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030F0000, "check the layout of iterators");
struct SequenceIterator {
  PyObject_HEAD Py_ssize_t index;
  PyObject* sequence;  // null when exhausted
};
struct RangeIterator {
#if PY_VERSION_HEX < 0x030C0000
  PyObject_HEAD long index, start, step, length;
#else
  PyObject_HEAD long start, step, length;  // the range that is left
  static constexpr long index = 0;
#endif
};

struct DictIterator {
  PyObject_HEAD PyObject* dict;
  Py_ssize_t used, position;
  PyObject* result;
  Py_ssize_t left;
};

struct SetIterator {
  PyObject_HEAD PyObject* set;
  Py_ssize_t used, position, left;
};

// Modules/_collectionsmodule.c
struct Deque {
  PyVarObject ob_base;
  void *left_block, *right_block;
  Py_ssize_t left_index, right_index;
  size_t state;  // changes with each insertion and removal
};
struct DequeIterator {
  PyObject_HEAD void* block;
  Py_ssize_t index;
  Deque* deque;
  size_t state;
  Py_ssize_t left;
};

struct OrderedDictIterator {
  PyObject_HEAD int kind;  // 1: backwards; 2: yields keys; 4: values
  PyObject* dict;
};

}  // namespace

WalkedIteration look_at_dict_iterator_backwards(PyObject* iterator) noexcept {
  const auto* over = reinterpret_cast<DictIterator*>(iterator);
  if (!over->dict) return {};
  const Py_ssize_t size = PyDict_GET_SIZE(over->dict);
  Py_ssize_t left = 0, position = 0;
  while (PyDict_Next(over->dict, &position, nullptr, nullptr) && position - 1 <= over->position) ++left;
  return {over->dict, size - left, over->used != size || over->left != left};
}

WalkedIteration look_at_deque_iterator(PyObject* iterator) noexcept {
  const auto* over = reinterpret_cast<DequeIterator*>(iterator);
  PyObject* deque = as_object(over->deque);
  return {deque, Py_SIZE(deque) - over->left, over->state != over->deque->state};
}

OrderedDictIteration look_at_ordered_dict_iterator(PyObject* iterator) noexcept {
  const auto* over = reinterpret_cast<OrderedDictIterator*>(iterator);
  PyTypeObject* const views[] = {&PyODictKeys_Type, &PyODictValues_Type, &PyODictItems_Type};
  const int gives = over->kind >> 1;
  if (gives < 1 || gives > 3) return {};
  return {over->dict, views[gives - 1], (over->kind & 1) == 0};
}

Ref view_method(PyTypeObject* type) {
  const auto is_one_of = [type](std::initializer_list<PyTypeObject*> types) {
    return std::ranges::find(types, type) != types.end();
  };
  const bool is_ordered = is_one_of({&PyODictKeys_Type, &PyODictValues_Type, &PyODictItems_Type});
  const char* name = "items";
  if (is_one_of({&PyDictKeys_Type, &PyDictIterKey_Type, &PyDictRevIterKey_Type, &PyODictKeys_Type})) name = "keys";
  if (is_one_of({&PyDictValues_Type, &PyDictIterValue_Type, &PyDictRevIterValue_Type, &PyODictValues_Type}))
    name = "values";
  return Ref::made(PyObject_GetAttrString(as_object(is_ordered ? &PyODict_Type : &PyDict_Type), name));
}

Py_ssize_t places_in_dict(PyObject* dict) noexcept {
  const auto* object = reinterpret_cast<PyDictObject*>(dict);
  return object->ma_values ? object->ma_used : object->ma_keys->dk_nentries;
}

bool is_dict_iterator(PyTypeObject* type) noexcept {
  return type == &PyDictIterKey_Type || type == &PyDictIterValue_Type || type == &PyDictIterItem_Type;
}

bool is_stale_dict_iterator(PyObject* iterator) noexcept {
  auto* over = reinterpret_cast<DictIterator*>(iterator);
  return over->dict && over->used != PyDict_GET_SIZE(over->dict);
}

bool is_beyond_size(PyObject* dict_iterator, Py_ssize_t ahead) noexcept {
  return ahead >= reinterpret_cast<DictIterator*>(dict_iterator)->left;
}

DictIteration look_at_dict_iterator(PyObject* iterator) noexcept {
  auto* over = reinterpret_cast<DictIterator*>(iterator);
  if (!over->dict) return {};
  Py_ssize_t passed = 0, position = 0;
  while (PyDict_Next(over->dict, &position, nullptr, nullptr) && position <= over->position) ++passed;
  return {over->dict, passed, std::max<Py_ssize_t>(0, over->position - places_in_dict(over->dict)), over->used,
          over->left};
}

void place_dict_iterator(PyObject* iterator, const DictIteration& at) noexcept {
  auto* over = reinterpret_cast<DictIterator*>(iterator);
  for (Py_ssize_t passed = at.passed; passed > 0; --passed)
    if (!PyDict_Next(over->dict, &over->position, nullptr, nullptr)) break;
  if (at.beyond) over->position = places_in_dict(over->dict) + at.beyond;
  over->used = at.size;
  over->left = at.left;
}

Py_ssize_t list_iterator_index(PyObject* iterator) noexcept {
  return reinterpret_cast<SequenceIterator*>(iterator)->index;
}

void place_list_iterator(PyObject* iterator, Py_ssize_t index) noexcept {
  reinterpret_cast<SequenceIterator*>(iterator)->index = index;
}

bool is_ascii_iterator(PyTypeObject* type) noexcept {
  static PyTypeObject* known = nullptr;
  if (type == known) return true;
  if ((type->tp_flags & Py_TPFLAGS_HEAPTYPE) || std::strcmp(type->tp_name, "str_ascii_iterator") != 0) return false;
  known = type;
  return true;
}

SetIteration look_at_set_iterator(PyObject* iterator) noexcept {
  const auto* over = reinterpret_cast<SetIterator*>(iterator);
  if (!over->set) return {};
  SetIteration at{over->set, 0, over->used != PySet_GET_SIZE(over->set)};
  Py_ssize_t position = 0;
  PyObject* element;
  Py_hash_t hash;
  while (next_in_set(over->set, position, element, hash) && position <= over->position) ++at.passed;
  return at;
}

bool can_peek(PyObject* iterator) noexcept {
  PyTypeObject* type = Py_TYPE(iterator);
  if (type == &PyReversed_Type) {  // over any sequence
    PyObject* sequence = reinterpret_cast<SequenceIterator*>(iterator)->sequence;
    return !sequence || PyTuple_CheckExact(sequence);
  }
  return type == &PyListIter_Type || type == &PyTupleIter_Type || type == &PyRangeIter_Type ||
         type == &PyListRevIter_Type || is_dict_iterator(type) || type == &PySetIter_Type ||
         type == &PyUnicodeIter_Type || type == &PyBytesIter_Type || is_ascii_iterator(type);
}

namespace {

Ref item_at(PyObject* sequence, Py_ssize_t index) noexcept {
  if (!sequence || index < 0) return nullptr;
  if (PyList_Check(sequence))
    return index < PyList_GET_SIZE(sequence) ? Ref::borrow(PyList_GET_ITEM(sequence, index)) : Ref();
  if (PyTuple_Check(sequence))
    return index < PyTuple_GET_SIZE(sequence) ? Ref::borrow(PyTuple_GET_ITEM(sequence, index)) : Ref();
  Ref made;
  if (PyUnicode_Check(sequence) && index < PyUnicode_GET_LENGTH(sequence))
    made = Ref::steal(PyUnicode_FromOrdinal(static_cast<int>(PyUnicode_READ_CHAR(sequence, index))));
  else if (PyBytes_Check(sequence) && index < PyBytes_GET_SIZE(sequence))
    made = Ref::steal(PyLong_FromLong(static_cast<unsigned char>(PyBytes_AS_STRING(sequence)[index])));
  if (!made) clear_error();
  return made;
}

Ref peek_in_set(PyObject* iterator, Py_ssize_t ahead, DictWalk& walk) noexcept {
  const auto* over = reinterpret_cast<SetIterator*>(iterator);
  if (walk.passed == 0 || walk.passed > ahead) walk = {0, over->position};
  PyObject* element = nullptr;
  Py_hash_t hash;
  for (; walk.passed <= ahead; ++walk.passed)
    if (!over->set || !next_in_set(over->set, walk.position, element, hash)) return nullptr;
  return Ref::borrow(element);
}

}  // namespace

Ref peek_item(PyObject* iterator, Py_ssize_t ahead, DictWalk* walk) noexcept {
  PyTypeObject* type = Py_TYPE(iterator);
  if (type == &PyReversed_Type && !can_peek(iterator)) return nullptr;
  const bool is_backwards = type == &PyListRevIter_Type || type == &PyReversed_Type;
  if (is_backwards || type == &PyListIter_Type || type == &PyTupleIter_Type || type == &PyUnicodeIter_Type ||
      type == &PyBytesIter_Type || is_ascii_iterator(type)) {
    auto* over = reinterpret_cast<SequenceIterator*>(iterator);
    return item_at(over->sequence, is_backwards ? over->index - ahead : over->index + ahead);
  }
  if (Py_IS_TYPE(iterator, &PyRangeIter_Type)) {
    auto* over = reinterpret_cast<RangeIterator*>(iterator);
    const Py_ssize_t index = over->index + ahead;
    Ref number = index < over->length
                     ? Ref::steal(PyLong_FromLong(static_cast<long>(static_cast<unsigned long>(over->start) +
                                                                    static_cast<unsigned long>(index) *
                                                                        static_cast<unsigned long>(over->step))))
                     : Ref();
    if (!number) clear_error();
    return number;
  }
  DictWalk from_start;
  if (type == &PySetIter_Type) return peek_in_set(iterator, ahead, walk ? *walk : from_start);
  if (!is_dict_iterator(Py_TYPE(iterator))) return nullptr;
  auto* over = reinterpret_cast<DictIterator*>(iterator);
  DictWalk from_here{0, over->position};
  if (!walk) walk = &from_here;
  if (walk->passed == 0 || walk->passed > ahead) *walk = from_here;
  PyObject *key = nullptr, *value = nullptr;
  for (; walk->passed <= ahead; ++walk->passed)
    if (!over->dict || !PyDict_Next(over->dict, &walk->position, &key, &value)) return nullptr;
  if (Py_IS_TYPE(iterator, &PyDictIterKey_Type)) return Ref::borrow(key);
  if (Py_IS_TYPE(iterator, &PyDictIterValue_Type)) return Ref::borrow(value);
  Ref item = Ref::steal(PyTuple_Pack(2, key, value));
  if (!item) clear_error();
  return item;
}

PyObject* iterated_container(PyObject* iterator) noexcept {
  if (Py_IS_TYPE(iterator, &PyListIter_Type) || Py_IS_TYPE(iterator, &PyListRevIter_Type))
    return reinterpret_cast<SequenceIterator*>(iterator)->sequence;
  if (Py_IS_TYPE(iterator, &PySetIter_Type)) return reinterpret_cast<SetIterator*>(iterator)->set;
  return is_dict_iterator(Py_TYPE(iterator)) ? reinterpret_cast<DictIterator*>(iterator)->dict : nullptr;
}

}  // namespace minidynamo
