#include "python/objects/native_contents.h"

#include <unordered_map>

#include "python/process/out_of_memory.h"
#include "python/unstable.h"
#include "python/version/type_version.h"

namespace minidynamo {
namespace {

void add_pairs(PyObject* dict, NativeContents& contents) {
  Py_ssize_t position = 0;
  PyObject *key, *value;
  Py_hash_t hash;
  while (next_with_hash(dict, position, key, value, hash)) {
    contents.items.insert(contents.items.end(), {key, value});
    contents.hashes.push_back(hash);
  }
}

// The items that the C class's own iterator yields. The container owns them, except for numbers that CPython owns for
// good.
std::vector<PyObject*> iterated(PyObject* container) {
  std::vector<PyObject*> items;
  Ref iterator = Ref::steal(native_base(Py_TYPE(container))->tp_iter(container));
  while (iterator) {
    Ref item = Ref::steal(iterator.type()->tp_iternext(iterator.get()));
    if (!item) break;
    items.push_back(item.get());
  }
  clear_error();
  return items;
}

// The order of an OrderedDict is not that of the dict beneath.
void put_in_order(PyObject* ordered_dict, NativeContents& contents) {
  struct Entry {
    PyObject* value;
    Py_hash_t hash;
  };
  std::unordered_map<PyObject*, Entry> entries;
  for (size_t i = 0; i < contents.hashes.size(); ++i)
    entries[contents.items[2 * i]] = {contents.items[2 * i + 1], contents.hashes[i]};
  contents = {};
  for (PyObject* key : iterated(ordered_dict)) {
    auto found = entries.find(key);
    if (found == entries.end()) continue;
    contents.items.insert(contents.items.end(), {key, found->second.value});
    contents.hashes.push_back(found->second.hash);
  }
}

bool is_native_descriptor(PyObject* found) noexcept {
  return Py_IS_TYPE(found, &PyGetSetDescr_Type) || Py_IS_TYPE(found, &PyMemberDescr_Type);
}

// The first in the MRO; null if there is none.
PyObject* native_descriptor(PyTypeObject* type, PyObject* name) noexcept {
  PyObject* found = class_attribute(type, name);
  if (!found || is_native_descriptor(found)) return found;
  for (Py_ssize_t i = 0; type->tp_mro && i < PyTuple_GET_SIZE(type->tp_mro); ++i) {
    auto* base = as_type(PyTuple_GET_ITEM(type->tp_mro, i));
    PyObject* own = PyDict_GetItemWithError(namespace_of(base), name);
    if (own && is_native_descriptor(own)) return own;
  }
  clear_error();
  return nullptr;
}

}  // namespace

NativeContents native_contents(PyObject* container) {
  NativeContents contents;
  if (PyList_Check(container) || PyTuple_Check(container)) {
    PyObject** items = PySequence_Fast_ITEMS(container);
    contents.items.assign(items, items + PySequence_Fast_GET_SIZE(container));
  } else if (PyDict_Check(container)) {
    add_pairs(container, contents);
    if (PyODict_Check(container)) put_in_order(container, contents);
  } else if (PyAnySet_Check(container)) {
    Py_ssize_t position = 0;
    PyObject* item;
    Py_hash_t hash;
    while (next_in_set(container, position, item, hash)) contents.items.push_back(item);
  } else {
    contents.items = iterated(container);
  }
  return contents;
}

Py_ssize_t native_size(PyObject* container) noexcept {
  if (PyDict_Check(container)) return reinterpret_cast<PyDictObject*>(container)->ma_used;
  if (PyAnySet_Check(container)) return PySet_GET_SIZE(container);
  const PySequenceMethods* methods = native_base(Py_TYPE(container))->tp_as_sequence;
  const Py_ssize_t size = methods && methods->sq_length ? methods->sq_length(container) : -1;
  if (size < 0) clear_error();
  return size;
}

Ref native_attribute(PyObject* object, PyObject* name) {
  PyTypeObject* type = Py_TYPE(object);
  if (PyObject* descriptor = native_descriptor(type, name))
    if (is_native_descriptor(descriptor))
      return Ref::steal(Py_TYPE(descriptor)->tp_descr_get(descriptor, object, as_object(type)));
  return Ref::steal(PyObject_GetAttr(object, name));
}

Ref native_attribute(PyObject* object, const char* name) {
  Ref key = Ref::made(PyUnicode_InternFromString(name));
  return native_attribute(object, key.get());
}

}  // namespace minidynamo
