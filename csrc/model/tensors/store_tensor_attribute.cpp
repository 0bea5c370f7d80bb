// Sets attributes of tensors: on a tensor that the trace made they are put on the tensor itself; those of a tensor from
// outside go into the effect log.
#include "model/tensors/store_tensor_attribute.h"

#include "model/objects/plain_classes.h"
#include "model/protocols/abstract.h"
#include "model/protocols/descriptor.h"
#include "model/tensors/new_data.h"
#include "model/tensors/new_leaf.h"
#include "model/tensors/overridden_call.h"
#include "model/tensors/wrapper_call.h"
#include "python/error_text.h"
#include "python/process/out_of_memory.h"
#include "python/version/type_version.h"
#include "tensor/autograd/history.h"
#include "tensor/autograd/transforms.h"
#include "tensor/fake/wrapper_fake.h"
#include "world/external/class_lookup.h"
#include "world/external/enter.h"
#include "world/external/known_types.h"
#include "world/native/native_code.h"

namespace minidynamo {
namespace {

bool refuse(Tracer& tracer, PyObject* name) {
  return tracer.abort(BreakReason::TensorAttributeWrite,
                      std::string("a tensor's ") + PyUnicode_AsUTF8(name) + " is set") != nullptr;
}

// tensor.grad = value. Of a tensor from outside it can wait: whatever asks autograd in a trace asks for it first.
bool store_gradient(Tracer& tracer, PyObject* tensor, PyObject* name, PyObject* value) {
  if (!value || (value != Py_None && !is_fake(value))) return refuse(tracer, name);
  if (value != Py_None) {  // torch compares sizes, dtype and device
    const NativeScope native;
    const PlainClasses plain(tensor);
    const bool fits = PyObject_SetAttr(tensor, name, value) == 0 && PyObject_SetAttr(tensor, name, Py_None) == 0;
    if (!fits) return clear_error(), refuse(tracer, name);
  }
  if (tracer.world.source_of(tensor) && !tracer.backward.receiving.count(tensor))
    tracer.effects.write(tensor, name, value);
  else
    set_gradient(tensor, value);
  return true;
}

// An attribute that torch defines changes the tensor itself.
bool store_torch_attribute(Tracer& tracer, PyObject* tensor, PyObject* name, PyObject* value) {
  if (name == "grad"_name) return store_gradient(tracer, tensor, name, value);
  if (name == "data"_name && value) return set_data(tracer, tensor, value);
  if (name == "requires_grad"_name && value && PyBool_Check(value) && is_leaf(tensor) && !is_transform_wrapper(tensor))
    return require_gradient(tracer, tensor, value == Py_True);
  return refuse(tracer, name);
}

bool is_of_torch(PyObject* attribute, PyObject* name) {
  static constinit ImportedType tensor_class{"torch.Tensor"};
  return attribute == class_attribute(tensor_class, name);
}

// By the setter of a class of the program's.
bool store_by_property(Tracer& tracer, PyObject* tensor, PyObject* property, PyObject* value) {
  const Ref setter = descriptor_part(tracer, property, value ? "fset" : "fdel");
  if (!setter) return false;
  if (setter.is(Py_None))  // which only raises then
    return Py_TYPE(property)->tp_descr_set(property, tensor, value) == 0;
  return static_cast<bool>(value ? call(tracer, setter.get(), {Ref::borrow(tensor), Ref::borrow(value)})
                                 : call(tracer, setter.get(), {Ref::borrow(tensor)}));
}

}  // namespace

bool store_described_attribute(Tracer& tracer, PyObject* tensor, PyObject* descriptor, PyObject* name,
                               PyObject* value) {
  if (const auto result = overridden_store(tracer, tensor, descriptor, value)) return static_cast<bool>(*result);
  return store_torch_attribute(tracer, tensor, name, value);
}

bool store_tensor_attribute(Tracer& tracer, PyObject* tensor, PyObject* name, PyObject* value) {
  const Ref override = lookup_in_class(tracer, Py_TYPE(tensor), value ? "__setattr__"_name : "__delattr__"_name);
  const Ref attribute = lookup_in_class(tracer, Py_TYPE(tensor), name);
  if (PyErr_Occurred()) return false;
  if (override && PyFunction_Check(override.get())) return refuse(tracer, name);
  if (attribute && Py_IS_TYPE(attribute.get(), &PyProperty_Type) && !is_of_torch(attribute.get(), name))
    return store_by_property(tracer, tensor, attribute.get(), value);
  if (attribute && Py_IS_TYPE(attribute.get(), &PyGetSetDescr_Type) && is_of_torch(attribute.get(), name))
    return store_described_attribute(tracer, tensor, attribute.get(), name, value);
  if (is_open_wrapper(tracer, tensor)) return store_in_new_wrapper(tracer, tensor, name, value);
  if (attribute && Py_TYPE(attribute.get())->tp_descr_set) return store_torch_attribute(tracer, tensor, name, value);
  if (is_wrapper(tensor)) return refuse(tracer, name);
  if (value && !materialize_if_shadow(tracer, value)) return false;
  if (!tracer.world.source_of(tensor)) return PyObject_GenericSetAttr(tensor, name, value) == 0 && !tracer.is_over();
  if (!value) return refuse(tracer, name);
  tracer.effects.write(tensor, name, value);
  return true;
}

}  // namespace minidynamo
