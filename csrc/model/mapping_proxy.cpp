#include "model/mapping_proxy.h"

#include "model/attribute.h"
#include "python/mapping_proxy.h"

namespace minidynamo {
namespace {

Ref proxy_over(Tracer& tracer, PyObject* dict) {
  Ref proxy = Ref::steal(PyDictProxy_New(dict));
  if (StandIn* stand_in = tracer.outside.stand_in(dict); proxy && stand_in) {
    tracer.outside.also_stands_in(proxy.get(), stand_in);
    tracer.kept_for_identity.push_back(proxy);  // its address is known from now on
  }
  return proxy;
}

PyObject* annotations_name() {
  static PyObject* const name = interned("__annotations__");
  return name;
}

// What the trace has put into a class shows in its dict, and is no change of that dict: it is written to the class.
bool show_write(Tracer& tracer, PyObject* dict, const AttributeWrite& write) {
  StandIn* stand_in = tracer.outside.stand_in(dict);
  if (!stand_in || !tracer.outside.fill_if_stand_in(tracer, dict)) return false;
  if (PyDict_Contains(dict, write.name.get()) == 1) return true;
  stand_in->snapshot.push_back(write.name);
  stand_in->snapshot.push_back(write.value);
  return PyDict_SetItem(dict, write.name.get(), write.value.get()) == 0;
}

}  // namespace

Ref make_class_annotations(Tracer& tracer, PyTypeObject* type) {
  PyObject* name = annotations_name();
  auto* object = reinterpret_cast<PyObject*>(type);
  if (!PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) || tracer.classes.has(object) ||
      PyDict_GetItemWithError(type->tp_dict, name))
    return nullptr;
  if (const AttributeWrite* write = tracer.effects.pending(object, name)) return write->value;
  Source* own = tracer.guards.child(tracer.outside.source_or_pin(tracer, object), Access::InstanceDict, nullptr, -1,
                                    type->tp_dict);
  tracer.guards.add_missing(own, Access::DictItem, name, -1, tracer.origin());
  Ref made = Ref::made(PyDict_New());
  tracer.own_dicts.emplace(made.get(), Ref::borrow(object));
  tracer.kept_for_identity.push_back(made);
  tracer.effects.write_class(object, name, made.get());
  PyObject* dict = tracer.outside.replacement_of(type->tp_dict);
  if (dict && !show_write(tracer, dict, *tracer.effects.pending(object, name)))
    return tracer.give_up(BreakReason::ClassAttributeWrite, "a class gets __annotations__");
  return made;
}

Ref load_class_dict(Tracer& tracer, PyTypeObject* type) {
  auto* object = reinterpret_cast<PyObject*>(type);
  if (tracer.classes.has(object)) return Ref::steal(PyDictProxy_New(type->tp_dict));
  if (tracer.effects.has_writes_but(object, annotations_name()))
    return tracer.give_up(BreakReason::InstanceDict, "the __dict__ of a class that the trace has written to");
  Source* source = tracer.outside.source_or_pin(tracer, object);
  Ref dict =
      tracer.outside.enter(tracer, tracer.guards.child(source, Access::InstanceDict, nullptr, -1, type->tp_dict));
  if (!dict) return nullptr;
  const AttributeWrite* annotations = tracer.effects.pending(object, annotations_name());
  if (annotations && !show_write(tracer, dict.get(), *annotations)) return nullptr;
  return proxy_over(tracer, dict.get());
}

bool is_class_dict_in_use(Tracer& tracer, PyTypeObject* type) {
  return tracer.outside.replacement_of(type->tp_dict) != nullptr;
}

Ref enter_mapping_proxy(Tracer& tracer, Source* source) {
  PyObject* mapping = proxied_mapping(source->value.get());
  if (!PyDict_Check(mapping)) return nullptr;
  tracer.guards.add(source, GuardKind::ExactType, tracer.origin());
  Ref dict = tracer.outside.enter(tracer, tracer.guards.child(source, Access::Proxied, nullptr, -1, mapping));
  return dict ? proxy_over(tracer, dict.get()) : Ref();
}

namespace special {

Ref descriptor_get(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  const size_t count = arguments.values.size();
  if (arguments.keyword_names || count < 2 || count > 3) return call_natively(tracer, callable, arguments);
  PyObject* descriptor = arguments.values[0].get();
  PyObject* object = arguments.values[1].get();
  if (Py_TYPE(descriptor)->tp_descr_get != PyDescr_TYPE(callable)->tp_descr_get)
    return call_natively(tracer, callable, arguments);
  const bool is_getter = Py_IS_TYPE(descriptor, &PyGetSetDescr_Type) || Py_IS_TYPE(descriptor, &PyMemberDescr_Type);
  PyObject* owner = count == 3 ? arguments.values[2].get() : Py_None;
  if (is_fake(object) || (object == Py_None && (owner == Py_None || Py_IS_TYPE(descriptor, &PyClassMethod_Type))))
    return tracer.give_up(BreakReason::UnknownFunction, "__get__ of a descriptor is called");
  if (object == Py_None)
    return Py_IS_TYPE(descriptor, &PyStaticMethod_Type) ? bind_descriptor(tracer, descriptor, owner, nullptr)
                                                        : arguments.values[0];
  if (Py_IS_TYPE(descriptor, &PyClassMethod_Type) && owner == Py_None)
    return bind_descriptor(tracer, descriptor, reinterpret_cast<PyObject*>(Py_TYPE(object)), nullptr);
  if (Py_IS_TYPE(descriptor, &PyClassMethod_Type)) return bind_descriptor(tracer, descriptor, owner, nullptr);
  // What CPython would refuse is for it to say.
  if (is_getter && !PyType_IsSubtype(Py_TYPE(object), PyDescr_TYPE(descriptor)))
    return call_natively(tracer, callable, arguments);
  if (PyType_Check(object)) tracer.outside.source_or_pin(tracer, object);
  return bind_descriptor(tracer, descriptor, object, is_getter ? PyDescr_NAME(descriptor) : nullptr);
}

}  // namespace special

}  // namespace minidynamo
