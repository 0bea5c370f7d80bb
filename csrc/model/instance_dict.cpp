#include "model/instance_dict.h"

#include "python/dict_version.h"
#include "python/type_version.h"
#include "world/enter.h"

namespace minidynamo {
namespace {

// An attribute in the object's own __dict__, null if it has none; false with the trace over: only a key's own __eq__
// could tell.
bool find_in_instance(Tracer& tracer, PyObject* object, PyObject* name, PyObject*& value) {
  uint32_t hint = 0;
  if (instance_attribute(object, name, PyObject_Hash(name), hint, value) != Lookup::Undecided) return true;
  return tracer.abort(BreakReason::UnsupportedObject, std::string("a key in the __dict__ of a ") +
                                                          Py_TYPE(object)->tp_name +
                                                          " is compared by a Python method") != nullptr;
}

}  // namespace

ShadowContainer* materialized_instance_dict(Tracer& tracer, PyObject* object) {
  PyObject* dict = instance_dict(object);
  PyObject* replacement = dict ? tracer.world.replacement_of(dict) : nullptr;
  ShadowContainer* shadow = replacement ? tracer.world.shadow(replacement) : nullptr;
  return shadow && shadow->filled ? shadow : nullptr;
}

Ref load_own_dict(Tracer& tracer, PyObject* object) {
  Source* owner = tracer.world.source_of(object);
  Ref dict = Ref::steal(PyObject_GenericGetDict(owner->value.get(), nullptr));
  if (!dict) return nullptr;
  Source* source = tracer.guards.child(owner, Access::InstanceDict, nullptr, -1, dict.get());
  if (!source->value.is(dict.get())) {
    if (!source->inline_attributes)
      return tracer.abort(BreakReason::InstanceDict,
                          "__dict__ of an object whose attributes were read before it had one");
    source->value = dict;  // it has one now, with the attributes that were read
    source->inline_attributes = false;
  }
  Ref entered = enter(tracer, source);
  if (!entered) return nullptr;
  // Attributes that the trace has written are in the dict from now on.
  const auto apply = [&](const std::vector<AttributeWrite>& writes) {
    for (const AttributeWrite& write : writes) {
      PyObject* descriptor = class_attribute(Py_TYPE(object), write.name.get());
      if (descriptor && Py_IS_TYPE(descriptor, &PyMemberDescr_Type)) {  // a slot
        tracer.effects.write(object, write.name.get(), write.value.get());
        continue;
      }
      if (write.value && !materialize_if_shadow(tracer, write.value.get())) return false;
      if (!write.value && PyDict_Contains(entered.get(), write.name.get()) == 0) continue;  // set and deleted again
      const int status = write.value ? PyDict_SetItem(entered.get(), write.name.get(), write.value.get())
                                     : PyDict_DelItem(entered.get(), write.name.get());
      if (status < 0) return false;
    }
    return true;
  };
  const EffectLog::TakenWrites written = tracer.effects.take_writes(object);
  if (written.logged.empty() && written.removed.empty()) return entered;
  if (!materialize_if_shadow(tracer, entered.get()) || !apply(written.logged)) return nullptr;
  if (ShadowContainer* shadow = tracer.world.shadow(entered.get()); shadow && !written.logged.empty())
    accept_changes(*shadow);
  return apply(written.removed) ? entered : Ref();
}

Ref load_from_instance(Tracer& tracer, PyObject* object, PyObject* name) {
  Source* source = tracer.world.source_of(object);
  PyObject* value;
  if (!source) return find_in_instance(tracer, object, name, value) ? Ref::borrow(value) : Ref();
  if (const AttributeWrite* write = tracer.effects.pending(object, name)) return write->value;
  if (tracer.world.shadow(object))
    if (PyObject* own = instance_attribute(object, name)) return Ref::borrow(own);
  PyObject* owner = source->value.get();  // of what stands for another object, that one has the attributes
  if (!has_instance_dict(Py_TYPE(owner))) return nullptr;
  if (ShadowContainer* in_use = materialized_instance_dict(tracer, owner))
    return Ref::borrow(PyDict_GetItemWithError(in_use->object.get(), name));
  PyObject* own_dict = instance_dict(owner);
  Source* dict = tracer.guards.child(source, Access::InstanceDict, nullptr, -1, own_dict ? own_dict : owner);
  if (!find_in_instance(tracer, owner, name, value)) return nullptr;
  return load_part(tracer, dict, Access::DictItem, name, value);
}

bool guard_own_attribute(Tracer& tracer, PyObject* object, PyObject* name) {
  Source* source = tracer.world.source_of(object);
  PyObject* descriptor = class_attribute(Py_TYPE(object), name);
  const bool is_slot = descriptor && Py_IS_TYPE(descriptor, &PyMemberDescr_Type);
  Access access = is_slot ? Access::Attribute : Access::DictItem;
  Ref there;
  if (PyDict_Check(object)) {
    there = Ref::borrow(PyDict_GetItemWithError(object, name));
  } else if (PyCell_Check(object)) {
    access = Access::CellContents;
    there = Ref::borrow(PyCell_GET(object));
  } else if (is_slot) {
    there = Ref::steal(PyObject_GenericGetAttr(object, name));
  } else {
    PyObject* own_dict = instance_dict(object);
    source = tracer.guards.child(source, Access::InstanceDict, nullptr, -1, own_dict ? own_dict : object);
    there = Ref::borrow(instance_attribute(object, name));
  }
  clear_error();
  PyObject* key = access == Access::CellContents ? nullptr : name;
  if (there)
    tracer.guards.add(tracer.guards.child(source, access, key, -1, there.get()), GuardKind::Present, tracer.origin());
  else
    tracer.guards.add_missing(source, access, key, -1, tracer.origin());
  return static_cast<bool>(there);
}

}  // namespace minidynamo
