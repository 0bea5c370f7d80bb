#include "model/objects/instance_dict.h"

#include "python/version/dict_version.h"
#include "python/version/type_version.h"
#include "world/external/enter.h"
#include "world/external/types.h"
#include "world/native/native_code.h"

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

// True if the trace may have changed an external object's __dict__ other than by writes to this object's attributes:
// as a dict, or through another object that has the same one.
bool is_written_elsewhere(Tracer& tracer, PyObject* object, PyObject* dict) {
  if (!dict) return false;
  PyObject* writer = tracer.effects.writer_of(dict);
  if (writer && writer != object) return true;
  PyObject* replacement = tracer.world.replacement_of(dict);
  const ShadowContainer* shadow = replacement ? tracer.world.shadow(replacement) : nullptr;
  return shadow && shadow->filled;
}

}  // namespace

ShadowContainer* shared_instance_dict(Tracer& tracer, PyObject* object) {
  PyObject* dict = instance_dict(tracer.world.source_of(object)->value.get());
  if (!dict) return nullptr;
  PyObject* writer = tracer.effects.writer_of(dict);
  if (writer && writer != object) {
    const Ref in_use = load_own_dict(tracer, writer);
    if (!in_use || !materialize_if_shadow(tracer, in_use.get())) return nullptr;
  }
  if (!tracer.world.replacement_of(dict) && !tracer.world.source_of(dict)) return nullptr;
  const Ref in_use = load_own_dict(tracer, object);
  if (!in_use) return nullptr;
  ShadowContainer* shadow = tracer.world.shadow(in_use.get());
  if (!shadow) return use_opaque(tracer, in_use.get()), nullptr;
  return shadow->filled ? shadow : nullptr;
}

bool note_given_dict(Tracer& tracer, PyObject* object, PyObject* name, PyObject* value) {
  if (name != "__dict__"_name || instance_dict(object) != value) return true;
  auto& owners = tracer.made.instance_dicts;
  std::erase_if(owners, [object](const auto& entry) { return entry.second.is(object); });  // it is its own no more
  if (!value || PyFunction_Check(object)) return true;  // functions are made of theirs
  if (!can_be_made_empty(Py_TYPE(object)))
    return tracer.abort(BreakReason::InstanceDict,
                        std::string("a ") + Py_TYPE(object)->tp_name + " is given another __dict__") != nullptr;
  tracer.made.given_dicts.insert(Ref::borrow(object));
  return true;
}

Ref load_from_instance(Tracer& tracer, PyObject* object, PyObject* name) {
  Source* source = tracer.world.source_of(object);
  PyObject* value;
  if (!source) return find_in_instance(tracer, object, name, value) ? Ref::borrow(value) : Ref();
  if (const AttributeWrite* write = tracer.effects.pending(object, name)) return write->value;
  if (tracer.world.shadow(object))
    if (PyObject* own = instance_attribute(object, name)) return Ref::borrow(own);
  PyObject* owner = source->value.get();  // a stand-in has no attributes: the object that it stands for has them
  if (!has_instance_dict(Py_TYPE(owner))) return nullptr;
  PyObject* own_dict = instance_dict(owner);
  if (is_written_elsewhere(tracer, object, own_dict)) {
    ShadowContainer* in_use = shared_instance_dict(tracer, object);
    return in_use ? Ref::borrow(PyDict_GetItemWithError(in_use->object.get(), name)) : Ref();
  }
  Source* dict = tracer.guards.child(source, Access::InstanceDict, nullptr, -1, own_dict ? own_dict : owner);
  if (!find_in_instance(tracer, owner, name, value)) return nullptr;
  return load_part(tracer, dict, Access::DictItem, name, value);
}

OwnPlace own_place(Tracer& tracer, PyObject* object, PyObject* name) {
  OwnPlace place{tracer.world.source_of(object), Access::DictItem, name, nullptr};
  if (PyDict_Check(object)) {
    place.held = Ref::borrow(PyDict_GetItemWithError(object, name));
  } else if (PyCell_Check(object)) {
    place.access = Access::CellContents;
    place.key = nullptr;
    place.held = Ref::borrow(PyCell_GET(object));
  } else if (is_slot_of(object, name)) {
    place.access = Access::Attribute;
    place.held = Ref::steal(PyObject_GenericGetAttr(object, name));
  } else if (PyType_Check(object)) {
    place.access = Access::Attribute;
    place.held = Ref::borrow(class_attribute(as_type(object), name));
  } else {
    PyObject* own_dict = instance_dict(object);
    place.owner = tracer.guards.child(place.owner, Access::InstanceDict, nullptr, -1, own_dict ? own_dict : object);
    place.held = Ref::borrow(instance_attribute(object, name));
  }
  clear_error();
  return place;
}

bool guard_own_attribute(Tracer& tracer, PyObject* object, PyObject* name) {
  const OwnPlace place = own_place(tracer, object, name);
  if (place.held)
    tracer.guards.add(place.source_of_held(tracer), GuardKind::Present, tracer.origin());
  else
    tracer.guards.add_missing(place.owner, place.access, place.key, -1, tracer.origin());
  return static_cast<bool>(place.held);
}

}  // namespace minidynamo
