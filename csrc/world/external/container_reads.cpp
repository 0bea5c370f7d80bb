// Reads of an external container, and additions to its end, that leave its shadow unfilled.
#include "world/external/container_reads.h"

#include "python/interned.h"
#include "python/objects/native_contents.h"
#include "python/version/dict_version.h"
#include "python/version/type_version.h"
#include "world/external/enter.h"
#include "world/native/native_code.h"

namespace minidynamo {
namespace {

bool prepare_for_addition(Tracer& tracer, PyObject* list) {
  const ShadowContainer* shadow = tracer.world.shadow(list);
  return (shadow && !shadow->filled && PyList_CheckExact(list)) || prepare_for_native(tracer, list);
}

// The pending write of an attribute that lies in the dict; null: none.
const AttributeWrite* pending_in_dict(const Tracer& tracer, PyObject* dict, PyObject* key) {
  PyObject* owner = tracer.effects.writer_of(dict);
  if (!owner || !PyUnicode_CheckExact(key) || is_slot_of(owner, key)) return nullptr;
  return tracer.effects.pending(owner, as_interned(key).get());
}

}  // namespace

bool tells_length(const Tracer& tracer, const ShadowContainer& shadow) {
  return !shadow.filled && !tracer.effects.writer_of(shadow.original.get());
}

bool has_attributes(Tracer& tracer, const ShadowContainer& shadow) {
  PyObject* original = shadow.original.get();
  if (!has_instance_dict(Py_TYPE(original))) return false;
  PyObject* dict = instance_dict(original);
  if (dict && PyDict_GET_SIZE(dict)) return true;
  if (tracer.effects.has_writes(shadow.object.get())) return true;
  Source* own = tracer.guards.child(shadow.source, Access::InstanceDict, nullptr, -1, dict ? dict : original);
  tracer.guards.add(own, GuardKind::DictKeys, tracer.origin());
  return false;
}

Ref item_of_shadow(Tracer& tracer, ShadowContainer& shadow, PyObject* key, bool& found) {
  if (const AttributeWrite* write = pending_in_dict(tracer, shadow.original.get(), key)) {
    found = static_cast<bool>(write->value);
    return write->value;
  }
  PyObject* raw = nullptr;
  uint32_t hint = 0;
  found = false;
  if (::minidynamo::dict_item(shadow.original.get(), key, PyObject_Hash(key), hint, raw) == Lookup::Undecided)
    return tracer.abort(BreakReason::UnsupportedObject,
                        shadow.source->to_text() + ": a key is compared by a Python method");
  found = raw != nullptr;
  return load_part(tracer, shadow.source, Access::DictItem, key, raw);
}

Ref element_of_shadow(Tracer& tracer, ShadowContainer& shadow, Py_ssize_t index) {
  const Py_ssize_t before = PyList_GET_SIZE(shadow.original.get());
  if (index >= before) return Ref::borrow(PyList_GET_ITEM(shadow.object.get(), index - before));
  PyObject* raw = PyList_GET_ITEM(shadow.original.get(), index);
  return load_part(tracer, shadow.source, Access::Index, nullptr, raw, static_cast<int32_t>(index));
}

Py_ssize_t length_of_shadow(Tracer& tracer, ShadowContainer& shadow) {
  tracer.guards.add(shadow.source, GuardKind::Length, tracer.origin());
  return native_size(shadow.original.get()) + native_size(shadow.object.get());
}

bool append_to(Tracer& tracer, PyObject* list, PyObject* item) {
  return prepare_for_addition(tracer, list) && materialize_if_shadow(tracer, item) && PyList_Append(list, item) == 0;
}

std::optional<bool> extend_by(Tracer& tracer, PyObject* list, PyObject* items) {
  if (items == list || !(PyList_CheckExact(items) || PyTuple_CheckExact(items))) return std::nullopt;
  if (!prepare_for_native(tracer, items) || !prepare_for_addition(tracer, list)) return false;
  const Py_ssize_t end = PyList_GET_SIZE(list);
  return PyList_SetSlice(list, end, end, items) == 0;
}

}  // namespace minidynamo
