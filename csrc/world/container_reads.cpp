// Reads of an outside container that leave its stand-in unfilled.
#include "world/container_reads.h"

#include "python/dict_version.h"
#include "python/native_contents.h"
#include "world/enter.h"

namespace minidynamo {

bool has_attributes(Tracer& tracer, const StandIn& stand_in) {
  PyObject* original = stand_in.original.get();
  if (!has_instance_dict(Py_TYPE(original))) return false;
  PyObject* dict = instance_dict(original);
  if (dict && PyDict_GET_SIZE(dict)) return true;
  if (tracer.effects.has_writes(stand_in.object.get())) return true;
  Source* own = tracer.guards.child(stand_in.source, Access::InstanceDict, nullptr, -1, dict ? dict : original);
  tracer.guards.add(own, GuardKind::DictKeys, tracer.origin());
  return false;
}

Ref item_of_stand_in(Tracer& tracer, StandIn& stand_in, PyObject* key, bool& found) {
  PyObject* raw = nullptr;
  uint32_t hint = 0;
  found = false;
  if (::minidynamo::dict_item(stand_in.original.get(), key, PyObject_Hash(key), hint, raw) == Lookup::Undecided)
    return tracer.give_up(BreakReason::UnsupportedObject,
                          stand_in.source->to_text() + ": a key is compared by a Python method");
  found = raw != nullptr;
  return load_part(tracer, stand_in.source, Access::DictItem, key, raw);
}

Ref element_of_stand_in(Tracer& tracer, StandIn& stand_in, Py_ssize_t index) {
  PyObject* raw = PyList_GET_ITEM(stand_in.original.get(), index);
  return load_part(tracer, stand_in.source, Access::Index, nullptr, raw, static_cast<int32_t>(index));
}

Py_ssize_t length_of_stand_in(Tracer& tracer, StandIn& stand_in) {
  tracer.guards.add(stand_in.source, GuardKind::Length, tracer.origin());
  return native_size(stand_in.original.get());
}

}  // namespace minidynamo
