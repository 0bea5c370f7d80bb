// The fake gets the other one's memory, and is to the graph what `other.data` is. A tensor from before the call gets it
// by the effect log too, when the graph has run; it has to keep its sizes and dtype, as which the graph knows its
// input.
#include "model/tensors/new_data.h"

#include "model/objects/plain_classes.h"
#include "model/tensors/tensor_call.h"
#include "python/native_method.h"
#include "python/objects/native_contents.h"
#include "python/process/out_of_memory.h"
#include "tensor/autograd/history.h"
#include "tensor/autograd/transforms.h"
#include "tensor/fake/tensor_facts.h"
#include "tensor/fake/wrapper_fake.h"
#include "tensor/symbolic/symbolic_size.h"
#include "world/native/native_code.h"

namespace minidynamo {
namespace {

PyObject* data_name() { return "data"_name; }

bool refuse(Tracer& tracer) {
  return tracer.abort(BreakReason::TensorAttributeWrite, "a tensor's data is set") != nullptr;
}

bool is_as(PyObject* tensor, PyObject* value, const char* attribute) {
  const Ref one = native_attribute(tensor, attribute), other = native_attribute(value, attribute);
  return one && other && PyObject_RichCompareBool(one.get(), other.get(), Py_EQ) == 1;
}

bool has_same_strides(PyObject* tensor, PyObject* value) {
  const Ref one = call_native_method(tensor, "stride"), other = call_native_method(value, "stride");
  return one && other && PyObject_RichCompareBool(one.get(), other.get(), Py_EQ) == 1;
}

bool is_alone(PyObject* tensor) {  // no view, and computed by nothing
  return !has_history(tensor) && tensor_fact(tensor, TensorFact::IsView).is(Py_False);
}

bool can_get_other_memory(Tracer& tracer, PyObject* tensor, PyObject* value) {
  if (!is_fake(value) || is_wrapper(tensor) || is_wrapper(value) || is_transform_wrapper(tensor) ||
      is_transform_wrapper(value) || tracer.transforms.inside() || tracer.symbols.bodies)
    return false;
  if (has_symbolic_sizes(tensor) || has_symbolic_sizes(value) || !is_alone(tensor)) return false;
  if (!is_as(tensor, value, "device") || !is_as(tensor, value, "layout")) return false;
  if (!tracer.world.source_of(tensor)) return true;
  return is_as(tensor, value, "dtype") && is_as(tensor, value, "shape") && has_same_strides(tensor, value) &&
         tracer.may_assume() && !tracer.backward.receiving.count(tensor);
}

// The tensor's former data, as a fake of its own.
Ref former_data(PyObject* tensor) {
  const NativeScope native;
  return native_attribute(tensor, data_name());
}

}  // namespace

bool set_data(Tracer& tracer, PyObject* tensor, PyObject* value) {
  if (value == tensor) return true;  // as Module.to() does, where nothing is to be done
  flush_operator_reports();
  if (value && is_fake(value) && show_same_memory(tensor, value) && is_as(tensor, value, "dtype"))
    return true;  // tensor.data -= other
  const bool can = value && can_get_other_memory(tracer, tensor, value);
  clear_error();
  if (!can) return refuse(tracer);
  const Ref data = load_tensor_attribute(tracer, value, data_name());
  const NodeId node = data ? tracer.graph.origin(data.get()) : kNoNode;
  if (tracer.is_over() || !data) return false;
  if (node == kNoNode) return refuse(tracer);
  if (tracer.world.source_of(tensor)) {
    // A write to an input is found by the memory that its fake shows at the end.
    if (tracer.storages.is_written(tensor)) {
      tracer.storages.written.insert(storage_of_fake(data.get()));
    } else {
      const Ref before = former_data(tensor);
      if (!before) return clear_error(), refuse(tracer);
      tracer.assume(Assumption::Kind::Unwritten, before.get());
    }
    // A result computed from it from here on has no history at the leaf that it is to the graph.
    if (requires_gradient(tensor) && !tracer.limits.below_autograd) tracer.assume(Assumption::Kind::IsNoOrigin, tensor);
    tracer.effects.write(tensor, data_name(), data.get());
  }
  {
    const NativeScope native;
    const PlainClasses plain(tensor);
    if (PyObject_SetAttr(tensor, data_name(), data.get()) < 0) return clear_error(), refuse(tracer);
  }
  tracer.graph.stand_for(tensor, node);
  return true;
}

}  // namespace minidynamo
