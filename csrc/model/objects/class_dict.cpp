#include "model/objects/class_dict.h"

#include "python/code/annotations.h"
#include "python/unstable.h"
#include "python/version/type_version.h"
#include "world/external/enter.h"
#include "world/external/mapping_proxy.h"
#include "world/external/pin.h"

namespace minidynamo {
namespace {

PyObject* annotations_name() { return "__annotations__"_name; }

// An attribute that the trace has written to a class shows in the class's dict, and is no change of that dict: it is
// written to the class.
bool show_write(Tracer& tracer, PyObject* dict, const AttributeWrite& write) {
  ShadowContainer* shadow = tracer.world.shadow(dict);
  if (!shadow || !materialize_if_shadow(tracer, dict)) return false;
  if (PyDict_Contains(dict, write.name.get()) == 1) return true;
  shadow->snapshot.push_back(write.name);
  shadow->snapshot.push_back(write.value);
  return PyDict_SetItem(dict, write.name.get(), write.value.get()) == 0;
}

}  // namespace

Ref make_class_annotations(Tracer& tracer, PyTypeObject* type) {
  PyObject* name = annotations_name();
  auto* object = as_object(type);
  if (is_static_class(type) || tracer.classes.has(object) || PyDict_GetItemWithError(namespace_of(type), name))
    return nullptr;
  if (const AttributeWrite* write = tracer.effects.pending(object, name)) return write->value;
  if (makes_annotations(object, name))
    return tracer.abort(BreakReason::ClassAttributeWrite, "a class's annotations are made by looking at them");
  if (kAnnotationsAreLazy) return nullptr;
  Source* own =
      tracer.guards.child(source_or_pin(tracer, object), Access::InstanceDict, nullptr, -1, namespace_of(type));
  tracer.guards.add_missing(own, Access::DictItem, name, -1, tracer.origin());
  Ref made = Ref::made(PyDict_New());
  tracer.made.instance_dicts.emplace(made.get(), Ref::borrow(object));
  tracer.identities.kept.push_back(made);
  tracer.effects.write_class(object, name, made.get());
  PyObject* dict = tracer.world.replacement_of(namespace_of(type));
  if (dict && !show_write(tracer, dict, *tracer.effects.pending(object, name)))
    return tracer.abort(BreakReason::ClassAttributeWrite, "a class gets __annotations__");
  return made;
}

Ref load_class_dict(Tracer& tracer, PyTypeObject* type) {
  auto* object = as_object(type);
  if (tracer.classes.has(object)) return Ref::steal(PyDictProxy_New(namespace_of(type)));
  if (tracer.effects.has_writes_but(object, annotations_name()))
    return tracer.abort(BreakReason::InstanceDict, "the __dict__ of a class that the trace has written to");
  Source* source = source_or_pin(tracer, object);
  Ref dict = load_part(tracer, source, Access::InstanceDict, nullptr, namespace_of(type));
  if (!dict) return nullptr;
  const AttributeWrite* annotations = tracer.effects.pending(object, annotations_name());
  if (annotations && !show_write(tracer, dict.get(), *annotations)) return nullptr;
  return proxy_over(tracer, dict.get());
}

bool is_class_dict_in_use(Tracer& tracer, PyTypeObject* type) {
  return tracer.world.replacement_of(namespace_of(type)) != nullptr;
}

}  // namespace minidynamo
