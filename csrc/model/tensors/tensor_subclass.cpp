#include "model/tensors/tensor_subclass.h"

#include "model/tensors/tensor_call.h"
#include "python/error_text.h"
#include "python/process/out_of_memory.h"
#include "python/version/type_version.h"
#include "world/external/class_lookup.h"
#include "world/external/known_types.h"
#include "world/external/types.h"
#include "world/native/special_methods.h"
#include "world/torch/tensor_classes.h"

namespace minidynamo {
namespace {

// A class whose instances the trace can make: nothing happens when they end, and no operator is the class's own below
// autograd.
bool can_be_made(Tracer& tracer, PyTypeObject* type) {
  static constinit ImportedType tensor_class{"torch.Tensor"};
  if (refuses_finalizer(tracer, type)) return false;
  if (class_attribute(type, "__torch_dispatch__"_name) != class_attribute(tensor_class, "__torch_dispatch__"_name))
    return tracer.abort(BreakReason::UnsupportedTensor,
                        std::string("a ") + type->tp_name + ", whose operators are its own, is made") != nullptr;
  if (has_bound_special_method(type))
    return tracer.abort(BreakReason::UnknownClass, std::string("an instance of ") + type->tp_name +
                                                       " has special methods of another object") != nullptr;
  return true;
}

}  // namespace

Ref as_class(Tracer& tracer, PyObject* tensor, PyTypeObject* type) {
  if (tracer.transforms.records_operators())
    return tracer.abort(BreakReason::UnsupportedTensor, "a tensor gets another class within a transform");
  if (!can_be_made(tracer, type)) return nullptr;
  flush_operator_reports();
  Ref made;
  {
    const NativeScope native;
    made = Ref::steal(
        PyObject_CallFunctionObjArgs("torch._C.TensorBase.as_subclass"_imported, tensor, as_object(type), nullptr));
  }
  if (tracer.is_over()) return nullptr;
  if (!made) return tracer.abort(BreakReason::OperatorRaised, "as_subclass raised " + take_error_text());
  const Ref operands[] = {Ref::borrow(tensor)};
  const bool recorded = record_node(tracer, NodeKind::CallFunction, "torch.ops.aten.alias.default"_imported,
                                    Arguments{operands}, made.get(), /*impure=*/false);
  return recorded ? made : Ref();
}

Ref new_of_class(Tracer& tracer, PyTypeObject* type, const Arguments& arguments) {
  if (arguments.values.size() == 1 && !arguments.keyword_names && is_fake(arguments.values[0].get()))
    return as_class(tracer, arguments.values[0].get(), type);
  return tracer.abort(BreakReason::UnknownClass, std::string("an instance of ") + type->tp_name + " is made");
}

}  // namespace minidynamo
