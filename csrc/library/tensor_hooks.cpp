// Hooks on the gradients of tensors.
//
// On a leaf from outside, a hook is an effect: nothing before the backward pass sees it, so it is put there after the
// graph ran. On a tensor inside the graph it is a node: what the hook does to a gradient is traced, as one more graph,
// which the node puts on its tensor when the graph runs; whoever makes a backward graph of that one calls it there.
// A hook that does anything else than compute a gradient from a gradient is put there in Python.
#include "library/tensor_hooks.h"

#include <algorithm>

#include "model/abstract.h"
#include "model/body.h"
#include "model/tensor_call.h"
#include "python/out_of_memory.h"
#include "tensor/tensor_facts.h"
#include "world/known_types.h"
#include "world/types.h"

namespace minidynamo {
namespace {

std::nullptr_t refuse_hook(Tracer& tracer) {
  return tracer.give_up(BreakReason::AutogradCall, "a hook is put on a tensor");
}

// Whether nobody asks for what the call gives.
bool is_result_dropped(const Frame& frame) {
  if (frame.current().op != Op::CALL) return false;
  const int32_t at = frame.instruction + 1;
  const Instruction& next = frame.prepared->bytecode.instructions[at];
  if (next.op == Op::POP_TOP) return true;
  return next.op == Op::STORE_FAST && !frame.prepared->liveness().before(at + 1, next.arg);
}

// A fake of the kind of a tensor, which stands for the gradient that will come.
Ref gradient_like(PyObject* tensor) {
  const NativeScope unrecorded;
  static constinit Imported empty_like{"torch.empty_like"};
  const Ref detached = Ref::steal(PyObject_CallMethod(tensor, "detach", nullptr));
  return detached ? Ref::steal(PyObject_CallOneArg(empty_like, detached.get())) : Ref();
}

Ref put_hook_in_graph(Tracer& tracer, PyObject* tensor, PyObject* hook) {
  static constinit Imported register_hook{"minidynamo._tensor_hooks.register_hook"};
  Body body(tracer, "Tensor.register_hook", {hook});
  const Ref gradient = gradient_like(tensor);
  if (!gradient) return nullptr;
  body.add_parameter("gradient", gradient);
  const Ref result = call(tracer, hook, {gradient});
  if (tracer.broken()) return nullptr;
  if (!result) return clear_error(), refuse_hook(tracer);
  if (!body.only_computes()) return nullptr;
  const bool changes_gradient = !result.is(Py_None) && !result.is(gradient.get());
  if (changes_gradient && !(is_fake(result.get()) && body.made(result.get()) && is_of_kind(result.get(), tensor)))
    return refuse_hook(tracer);
  std::unique_ptr<Subgraph> taken = body.take(changes_gradient ? result.get() : gradient.get(), "hook");
  if (!taken) return nullptr;
  if (taken->impure || !body.leaves_operands(*taken)) return refuse_hook(tracer);
  if (!changes_gradient) return Ref::none();
  std::vector<Ref> values = {Ref::borrow(tensor), Ref()};
  values.insert(values.end(), taken->operands.begin(), taken->operands.end());
  values[1] = object_for(std::move(taken));
  return record_body_call(tracer, register_hook, values, nullptr, Py_None, true) ? Ref::none() : Ref();
}

}  // namespace

Ref special::tensor_register_hook(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  const bool is_plain = arguments.values.size() == 2 && !arguments.keyword_names && arguments.is_direct &&
                        is_fake(arguments.values[0].get()) && is_result_dropped(*tracer.frame);
  if (!is_plain) return refuse_hook(tracer);
  PyObject *tensor = arguments.values[0].get(), *hook = arguments.values[1].get();
  if (tracer.transforms.one_by_one()) return refuse_hook(tracer);
  if (!requires_gradient(tensor) || tracer.written_storages.count(storage_of_fake(tensor))) return refuse_hook(tracer);
  if (!tracer.world.source_of(tensor)) return put_hook_in_graph(tracer, tensor, hook);
  if (!is_leaf_with_gradient(tensor)) return refuse_hook(tracer);
  tracer.effects.call_later({Ref::borrow(callable), arguments.positional(), nullptr}, tracer.effects.end());
  return Ref::none();
}

}  // namespace minidynamo
