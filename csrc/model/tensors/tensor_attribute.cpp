// A tensor that the trace made has them itself, and they are put on the graph's output if it leaves the trace
// (plan/values.cpp).
#include "model/tensors/tensor_attribute.h"

#include "model/tensors/wrapper_call.h"
#include "python/version/dict_version.h"
#include "python/version/type_version.h"
#include "tensor/fake/wrapper_fake.h"
#include "world/external/class_lookup.h"
#include "world/external/enter.h"
#include "world/torch/tensor_classes.h"

namespace minidynamo {

bool is_new_wrapper(const Tracer& tracer, PyObject* tensor) {
  return is_wrapper(tensor) && !tracer.world.source_of(tensor);
}

Ref load_own_tensor_attribute(Tracer& tracer, PyObject* tensor, PyObject* name) {
  Source* source = tracer.world.source_of(tensor);
  if (PyObject* part = is_new_wrapper(tracer, tensor) ? instance_attribute(tensor, name) : nullptr)
    return part_of_new_wrapper(tracer, tensor, name, Ref::borrow(part));
  if (source)
    if (const AttributeWrite* write = tracer.effects.pending(tensor, name)) return write->value;
  Ref dict = Ref::steal(PyObject_GenericGetDict(source ? source->value.get() : tensor, nullptr));
  if (!dict) return nullptr;
  PyObject* raw = PyDict_GetItemWithError(dict.get(), name);
  if (!source || PyErr_Occurred()) return Ref::borrow(raw);
  Source* own = tracer.guards.child(source, Access::InstanceDict, nullptr, -1, dict.get());
  return load_part(tracer, own, Access::DictItem, name, raw);
}

Ref load_hiding_attribute(Tracer& tracer, PyObject* tensor, PyObject* name) {
  const Source* source = tracer.world.source_of(tensor);
  const bool may_have_some = has_own_attributes(source ? source->value.get() : tensor) ||
                             !is_class_of_graphs(Py_TYPE(tensor)) || tracer.effects.pending(tensor, name);
  return may_have_some ? load_own_tensor_attribute(tracer, tensor, name) : Ref();
}

bool has_own_getattribute(Tracer& tracer, PyObject* tensor) {
  if (is_class_of_graphs(Py_TYPE(tensor))) return false;
  const Ref method = lookup_in_class(tracer, Py_TYPE(tensor), "__getattribute__"_name);
  return method && PyFunction_Check(method.get());
}

bool has_own_attributes(PyObject* tensor) {
  if (is_wrapper(tensor)) return false;
  PyObject* dict = instance_dict(tensor);
  return dict ? PyDict_GET_SIZE(dict) > 0 : inline_attribute_count(tensor) > 0;
}

}  // namespace minidynamo
