#include "model/tensors/new_leaf.h"

#include <algorithm>

#include "model/native/native_call.h"
#include "model/tensors/tensor_call.h"
#include "model/tensors/transform_call.h"
#include "python/error_text.h"
#include "python/native_method.h"
#include "python/objects/native_contents.h"
#include "python/process/out_of_memory.h"
#include "tensor/fake/tensor_facts.h"
#include "world/external/known_types.h"
#include "world/native/native_code.h"

namespace minidynamo {
namespace {

bool refuse(Tracer& tracer) {
  return tracer.abort(BreakReason::TensorAttributeWrite, "requires_grad of a tensor is set") != nullptr;
}

bool tell(PyObject* tensor, bool wanted) {
  const NativeScope native;
  return static_cast<bool>(call_native_method(tensor, "requires_grad_", {wanted ? Py_True : Py_False}));
}

NodeId placeholder_of(const Graph& graph, PyObject* tensor) {
  const std::vector<Node>& nodes = graph.nodes();
  const auto found = std::ranges::find_if(
      nodes, [&](const Node& node) { return node.kind == NodeKind::Placeholder && node.example.is(tensor); });
  return found == nodes.end() ? kNoNode : static_cast<NodeId>(found - nodes.begin());
}

// Sets what the graph computes with from here on in place of an input: where autograd is to see nothing, the input
// without its history, and else the input itself.
bool see_input(Tracer& tracer, PyObject* tensor, bool requires_grad) {
  if (requires_grad) {
    const NodeId input = placeholder_of(tracer.graph, tensor);
    if (input == kNoNode) return refuse(tracer);
    tracer.graph.stand_for(tensor, input);
    return true;
  }
  const Ref operands[] = {Ref::borrow(tensor)};
  const Ref detached = record_call(tracer, NodeKind::CallMethod, "detach"_name, Arguments{operands});
  if (!detached) return false;
  tracer.graph.stand_for(tensor, tracer.graph.producer(detached.get()));
  return true;
}

// The effect log changes the tensor itself; until then its fake is changed.
bool tell_outside(Tracer& tracer, PyObject* tensor, const Source* source, bool wanted) {
  if (!is_leaf(tensor) || tracer.effects.pending(tensor, "data"_name) || tracer.transforms.inside() ||
      tracer.symbols.bodies || tracer.backward.receiving.count(tensor))
    return refuse(tracer);
  if (!tracer.limits.below_autograd) {
    const bool is_as_before = requires_gradient(source->value.get()) == wanted;
    if (!wanted || is_as_before) {
      if (!see_input(tracer, tensor, wanted)) return false;
    } else if (tracer.may_assume()) {
      tracer.assume(Assumption::Kind::IsNoOrigin, tensor);
    } else {
      return refuse(tracer);
    }
  }
  if (!tell(tensor, wanted)) return false;
  if (wanted) note_gradient_required(tensor);
  tracer.effects.write(tensor, "requires_grad"_name, wanted ? Py_True : Py_False);
  return true;
}

}  // namespace

bool is_leaf(PyObject* tensor) { return native_attribute(tensor, "is_leaf"_name).is(Py_True); }

bool require_gradient(Tracer& tracer, PyObject* tensor, bool wanted) {
  if (requires_gradient(tensor) == wanted) return true;
  if (const Source* source = tracer.world.source_of(tensor)) return tell_outside(tracer, tensor, source, wanted);
  if (!is_leaf(tensor) || !tracer.may_assume()) return refuse(tracer);
  tracer.assume(Assumption::Kind::IsNoOrigin, tensor);
  return tell(tensor, wanted);
}

Ref make_parameter(Tracer& tracer, PyTypeObject* type, const Ref& data, bool requires_grad) {
  static constinit Imported make{"torch._C.TensorBase._make_subclass"};
  const auto refused = [&] {
    return tracer.abort(BreakReason::UnknownClass, std::string("an instance of ") + type->tp_name + " is made");
  };
  if (tracer.transforms.inside() || (requires_grad && !tracer.may_assume())) return refused();
  const Ref values[] = {Ref::borrow(as_object(type)), data, Ref::boolean(requires_grad)};
  Ref made;
  if (tracer.transforms.records_operators()) {
    made = call_recording_operators(tracer, NodeKind::CallFunction, make, Arguments{values});
  } else {
    flush_operator_reports();
    {
      const NativeScope native;
      made = Ref::steal(PyObject_Vectorcall(make, vectorcall_values(Arguments{values}).data() + 1, 3, nullptr));
    }
    if (!made && !tracer.is_over())
      return tracer.abort(BreakReason::OperatorRaised, std::string(type->tp_name) + "() raised " + take_error_text());
    if (tracer.is_over() || !record_node(tracer, NodeKind::CallMethod, "detach"_name, Arguments{std::span(&data, 1)},
                                         made.get(), /*impure=*/false))
      return nullptr;
  }
  if (made && requires_grad) tracer.assume(Assumption::Kind::IsNoOrigin, made.get());
  return made;
}

}  // namespace minidynamo
