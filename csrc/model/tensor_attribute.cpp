// A tensor that the trace made has them itself, and they are put on the graph's output if it leaves the trace
// (plan/values.cpp).
#include "model/tensor_attribute.h"

#include "model/wrapper_call.h"
#include "python/dict_version.h"
#include "python/type_version.h"
#include "tensor/wrapper_fake.h"
#include "world/enter.h"

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

bool has_own_attributes(PyObject* fake) {
  PyObject* dict = instance_dict(fake);
  return dict && PyDict_GET_SIZE(dict) > 0 && !is_wrapper(fake);
}

}  // namespace minidynamo
