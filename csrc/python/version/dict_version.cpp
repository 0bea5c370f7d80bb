// The layout of CPython's dicts, and of attributes that instances keep inline.
//
// The probe sequence repeats the interpreter's own, since its lookup function may call __eq__ of foreign keys: a guard
// check must not run user code, so a foreign key of equal hash makes the answer "undecided" here.
#define Py_BUILD_CORE 1
#include "python/version/dict_version.h"

#include <cstring>

#include "python/objects/managed_attributes.h"
#include "python/process/out_of_memory.h"
#include "python/unstable.h"

namespace minidynamo {
namespace {

Py_ssize_t slot_of(const PyDictKeysObject* keys, size_t position) noexcept {
  switch (keys->dk_log2_index_bytes - keys->dk_log2_size) {
    case 0:
      return reinterpret_cast<const int8_t*>(keys->dk_indices)[position];
    case 1:
      return reinterpret_cast<const int16_t*>(keys->dk_indices)[position];
    case 2:
      return reinterpret_cast<const int32_t*>(keys->dk_indices)[position];
    default:
      return static_cast<Py_ssize_t>(reinterpret_cast<const int64_t*>(keys->dk_indices)[position]);
  }
}

Py_hash_t string_hash(PyObject* string) noexcept { return reinterpret_cast<PyASCIIObject*>(string)->hash; }

bool same_string(PyObject* a, PyObject* b) noexcept {
  // Equal kinds and lengths are required of equal strings: strings are kept in their smallest form.
  Py_ssize_t length = PyUnicode_GET_LENGTH(a);
  if (length != PyUnicode_GET_LENGTH(b) || PyUnicode_KIND(a) != PyUnicode_KIND(b)) return false;
  return std::memcmp(PyUnicode_DATA(a), PyUnicode_DATA(b), static_cast<size_t>(length) * PyUnicode_KIND(a)) == 0;
}

// 1 equal, 0 different, -1 user code would decide.
int same_key(PyObject* stored, PyObject* key) noexcept {
  if (stored == key) return 1;
  if (PyUnicode_CheckExact(stored) && PyUnicode_CheckExact(key)) return same_string(stored, key);
  if (!compares_natively(stored) || !compares_natively(key)) return -1;
  int equal = PyObject_RichCompareBool(stored, key, Py_EQ);
  if (equal < 0) clear_error();
  return equal;
}

// Index of the entry, -1 if absent, -2 if undecided.
Py_ssize_t find_entry(PyDictKeysObject* keys, PyObject* key, Py_hash_t hash, uint32_t hint) noexcept {
  const bool unicode = DK_IS_UNICODE(keys);
  if (static_cast<Py_ssize_t>(hint) < keys->dk_nentries) {
    PyObject* stored = unicode ? DK_UNICODE_ENTRIES(keys)[hint].me_key : DK_ENTRIES(keys)[hint].me_key;
    if (stored == key) return hint;
  }
  const size_t mask = static_cast<size_t>(DK_SIZE(keys)) - 1;
  size_t perturb = static_cast<size_t>(hash);
  for (size_t position = perturb & mask;; position = (position * 5 + (perturb >>= 5) + 1) & mask) {
    Py_ssize_t index = slot_of(keys, position);
    if (index == DKIX_EMPTY) return -1;
    if (index < 0) continue;  // deleted
    PyObject* stored;
    if (unicode) {
      stored = DK_UNICODE_ENTRIES(keys)[index].me_key;
      if (stored == key) return index;
      if (string_hash(stored) != hash) continue;
    } else {
      stored = DK_ENTRIES(keys)[index].me_key;
      if (stored == key) return index;
      if (DK_ENTRIES(keys)[index].me_hash != hash) continue;
    }
    int same = same_key(stored, key);
    if (same > 0) return index;
    if (same < 0) return -2;
  }
}

PyDictValues* inline_values(PyObject* object) noexcept {
  if (!(Py_TYPE(object)->tp_flags & Py_TPFLAGS_MANAGED_DICT)) return nullptr;
  return managed_values(object);
}

PyDictKeysObject* shared_keys(PyObject* object) noexcept {
  return reinterpret_cast<PyHeapTypeObject*>(Py_TYPE(object))->ht_cached_keys;
}

}  // namespace

bool compares_natively(PyObject* object) noexcept {
  PyTypeObject* type = Py_TYPE(object);
  if (type == &PyUnicode_Type || type == &PyLong_Type || type == &PyFloat_Type || type == &PyBytes_Type ||
      type == &PyBool_Type || type == &PyComplex_Type)
    return true;
  // torch.Size too.
  if (PyTuple_Check(object) && type->tp_richcompare == PyTuple_Type.tp_richcompare) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i)
      if (!compares_natively(PyTuple_GET_ITEM(object, i))) return false;
    return true;
  }
  if (PyWeakref_CheckRefExact(object)) {  // as what they lead to; those that lead nowhere by their identity
    PyObject* referent = PyWeakref_GET_OBJECT(object);
    return referent == Py_None || compares_natively(referent);
  }
  if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE) && !std::strcmp(type->tp_name, "torch.device")) return true;
  return type->tp_richcompare == nullptr || type->tp_richcompare == PyBaseObject_Type.tp_richcompare;
}

Lookup dict_item(PyObject* dict, PyObject* key, Py_hash_t hash, uint32_t& hint, PyObject*& value) noexcept {
  auto* self = reinterpret_cast<PyDictObject*>(dict);
  PyDictKeysObject* keys = self->ma_keys;
  Py_ssize_t index = find_entry(keys, key, hash, hint);
  value = nullptr;
  if (index == -2) return Lookup::Undecided;
  if (index < 0) return Lookup::Absent;
  hint = static_cast<uint32_t>(index);
  if (self->ma_values) {
    value = self->ma_values->values[index];
  } else {
    value = DK_IS_UNICODE(keys) ? DK_UNICODE_ENTRIES(keys)[index].me_value : DK_ENTRIES(keys)[index].me_value;
  }
  return value ? Lookup::Found : Lookup::Absent;
}

PyObject* dict_value_at(PyObject* dict, uint32_t hint) noexcept {
  auto* self = reinterpret_cast<PyDictObject*>(dict);
  PyDictKeysObject* keys = self->ma_keys;
  if (static_cast<Py_ssize_t>(hint) >= keys->dk_nentries) return nullptr;
  if (self->ma_values) return self->ma_values->values[hint];
  return DK_IS_UNICODE(keys) ? DK_UNICODE_ENTRIES(keys)[hint].me_value : DK_ENTRIES(keys)[hint].me_value;
}

PyObject* dict_of_view(PyObject* view) noexcept {
  return as_object(reinterpret_cast<_PyDictViewObject*>(view)->dv_dict);
}

PyObject* instance_dict(PyObject* object) noexcept {
  PyTypeObject* type = Py_TYPE(object);
  if (type->tp_flags & Py_TPFLAGS_MANAGED_DICT) return managed_dict(object);
  if (type->tp_dictoffset == 0) return nullptr;
  if (PyType_Check(object)) return namespace_of(as_type(object));
  PyObject** location = _PyObject_GetDictPtr(object);  // creates nothing where the dict is not managed
  return location ? *location : nullptr;
}

bool has_inline_attributes(PyObject* object) noexcept { return inline_values(object) != nullptr; }

PyObject* inline_attribute(PyObject* object, PyObject* name, Py_hash_t hash, uint32_t& hint) noexcept {
  PyDictValues* values = inline_values(object);
  if (!values) return nullptr;
  Py_ssize_t index = find_entry(shared_keys(object), name, hash, hint);
  if (index < 0) return nullptr;
  hint = static_cast<uint32_t>(index);
  return values->values[index];
}

Lookup instance_attribute(PyObject* object, PyObject* name, Py_hash_t hash, uint32_t& hint, PyObject*& value) noexcept {
  value = nullptr;
  if (has_inline_attributes(object)) {
    value = inline_attribute(object, name, hash, hint);
    return value ? Lookup::Found : Lookup::Absent;
  }
  PyObject* dict = instance_dict(object);
  return dict && PyDict_Check(dict) ? dict_item(dict, name, hash, hint, value) : Lookup::Absent;
}

PyObject* instance_attribute(PyObject* object, PyObject* name) noexcept {
  uint32_t hint = 0;
  PyObject* value;
  instance_attribute(object, name, PyObject_Hash(name), hint, value);
  return value;
}

Py_ssize_t inline_attribute_count(PyObject* object) noexcept {
  PyDictValues* values = inline_values(object);
  return values ? count_of(values) : 0;
}

bool visit_inline_attributes(PyObject* object, AttributeVisitor visit, void* state) noexcept {
  PyDictValues* values = inline_values(object);
  if (!values) return true;
  PyDictKeysObject* keys = shared_keys(object);
  for (int i = 0; i < count_of(values); ++i) {
    const uint8_t index = index_of(values, i);
    if (!visit(state, DK_UNICODE_ENTRIES(keys)[index].me_key, values->values[index])) return false;
  }
  return true;
}

}  // namespace minidynamo
