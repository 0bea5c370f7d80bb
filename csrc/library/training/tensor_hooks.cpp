// Hooks on the gradients of tensors.
//
// On a leaf from outside, a hook is an effect: nothing before the backward pass sees it, so it is put there after the
// graph ran. On a tensor inside the graph it is a node: what the hook does to a gradient is traced, as one more graph,
// which the node puts on its tensor when the graph runs; the compiler that makes a backward graph of that one calls it
// there. A hook that does anything else than compute a gradient from a gradient is put there in Python.
//
// Below autograd the engine runs in the trace, on fakes (backward.cpp), and the hooks are really on them, each as a
// callable that comes back to the trace: what they do is traced when the engine calls them.
#include "library/training/tensor_hooks.h"

#include "library/rules/handlers.h"

#include <algorithm>

#include "library/rules/dropped_result.h"
#include "model/native/body.h"
#include "model/native/native_callback.h"
#include "model/protocols/abstract.h"
#include "model/tensors/tensor_call.h"
#include "python/error_text.h"
#include "python/native_method.h"
#include "python/objects/sequence.h"
#include "python/process/out_of_memory.h"
#include "tensor/autograd/history.h"
#include "tensor/fake/tensor_facts.h"
#include "world/external/known_types.h"
#include "world/external/types.h"

namespace minidynamo {
namespace {

std::nullptr_t refuse_hook(Tracer& tracer) {
  if (!tracer.is_over() && !tracer.limits.below_autograd) tracer.backward.needs_below_autograd = true;
  return tracer.abort(BreakReason::AutogradCall, "a hook is put on a tensor");
}

// A fake of the kind of a tensor, which stands for the gradient that will come.
Ref gradient_like(PyObject* tensor) {
  const NativeScope unrecorded;
  const Ref detached = call_native_method(tensor, "detach");
  return detached ? Ref::steal(PyObject_CallOneArg("torch.empty_like"_imported, detached.get())) : Ref();
}

Ref put_hook_in_graph(Tracer& tracer, PyObject* tensor, PyObject* hook) {
  Body body(tracer, "Tensor.register_hook", {hook});
  const Ref gradient = gradient_like(tensor);
  if (!gradient) return nullptr;
  body.add_parameter("gradient", gradient);
  const Ref result = call(tracer, hook, {gradient});
  if (tracer.is_over()) return nullptr;
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
  return record_body_call(tracer, "minidynamo._runtime.tensor_hooks.register_hook"_imported, values, nullptr, Py_None,
                          true)
             ? Ref::none()
             : Ref();
}

// Calls a function of _runtime/tensor_hooks.py on fakes, as it is. Null: the trace is given up.
Ref call_plainly(Tracer& tracer, PyObject* function, std::initializer_list<PyObject*> operands) {
  const NativeScope native;
  const std::vector<PyObject*> values(operands);
  Ref result = Ref::steal(PyObject_Vectorcall(function, values.data(), values.size(), nullptr));
  if (!result && !tracer.is_over())
    tracer.abort(BreakReason::AutogradCall, "a hook cannot be put on a tensor: " + take_error_text());
  return result;
}

Ref put_hook_below_autograd(Tracer& tracer, PyObject* callable, const Arguments& arguments, bool is_after) {
  PyObject *tensor = arguments.values[0].get(), *hook = arguments.values[1].get();
  if (!requires_gradient(tensor) || (is_after && !is_leaf_with_gradient(tensor))) return refuse_hook(tracer);
  if (!tracer.world.source_of(tensor))
    return call_plainly(tracer,
                        is_after ? "minidynamo._runtime.tensor_hooks.add_later_hook"_imported
                                 : "minidynamo._runtime.tensor_hooks.add_hook"_imported,
                        {tensor, callback_of(hook).get()});
  if (!is_leaf_with_gradient(tensor) || !is_result_dropped(*tracer.frame) || tracer.backward.receiving.count(tensor))
    return refuse_hook(tracer);
  tracer.backward.hooks_to_come.push_back({Ref::borrow(tensor), Ref::borrow(hook), is_after});
  tracer.effects.defer_call({Ref::borrow(callable), arguments.positional(), nullptr}, tracer.effects.end());
  return Ref::none();
}

bool is_plain_call(const Arguments& arguments) {
  return arguments.values.size() == 2 && !arguments.keyword_names && arguments.is_direct &&
         is_fake(arguments.values[0].get());
}

bool give_hooks_of_kind(Tracer& tracer, PyObject* leaf, TensorFact kind) {
  const bool is_after = kind == TensorFact::AccumulateHooks;
  const Ref before = load_hooks(tracer, leaf, kind);
  if (!before) return false;
  std::vector<Ref> hooks;
  if (!before.is(Py_None)) {
    const Ref listed = call(tracer, "minidynamo._runtime.tensor_hooks.list_hooks"_imported, {before});
    if (!listed) return false;
    for (const Ref& hook : items_of(listed.get())) hooks.push_back(callback_of(hook.get()));
  }
  for (const BackwardState::HookToCome& one : tracer.backward.hooks_to_come)
    if (one.leaf.is(leaf) && one.is_after == is_after) hooks.push_back(callback_of(one.hook.get()));
  if (hooks.empty() && tensor_fact(leaf, kind).is(Py_None)) return true;
  return static_cast<bool>(call_plainly(tracer,
                                        is_after ? "minidynamo._runtime.tensor_hooks.set_later_hooks"_imported
                                                 : "minidynamo._runtime.tensor_hooks.set_hooks"_imported,
                                        {leaf, tuple_of(hooks).get()}));
}

}  // namespace

bool give_hooks(Tracer& tracer, PyObject* leaf) {
  return give_hooks_of_kind(tracer, leaf, TensorFact::BackwardHooks) &&
         give_hooks_of_kind(tracer, leaf, TensorFact::AccumulateHooks) && load_engine_hooks(tracer, leaf);
}

// Tensor.register_hook(hook), where the program drops the handle or all is recorded below autograd.
Ref handlers::tensor_register_hook(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (!is_plain_call(arguments)) return refuse_hook(tracer);
  if (tracer.limits.below_autograd && !tracer.transforms.inside())
    return put_hook_below_autograd(tracer, callable, arguments, false);
  if (!is_result_dropped(*tracer.frame)) return refuse_hook(tracer);
  PyObject *tensor = arguments.values[0].get(), *hook = arguments.values[1].get();
  if (tracer.transforms.records_operators()) return refuse_hook(tracer);
  if (!requires_gradient(tensor) || tracer.storages.is_written(tensor)) return refuse_hook(tracer);
  const bool is_outside = tracer.world.source_of(tensor) != nullptr;
  if (is_leaf_with_gradient(tensor) != is_outside) return refuse_hook(tracer);  // a new leaf is none in the graph
  if (!is_outside) return put_hook_in_graph(tracer, tensor, hook);
  tracer.effects.defer_call({Ref::borrow(callable), arguments.positional(), nullptr}, tracer.effects.end());
  return Ref::none();
}

// ..post_accumulate..
Ref handlers::tensor_register_later_hook(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (!is_plain_call(arguments) || !tracer.limits.below_autograd || tracer.transforms.inside())
    return refuse_hook(tracer);
  return put_hook_below_autograd(tracer, callable, arguments, true);
}

// The name of a node of autograd's graph (tensor.grad_fn).
Ref handlers::node_name(Tracer& tracer, PyObject*, const Arguments& arguments) {
  const NativeScope native;
  if (arguments.values.size() != 1 || tracer.world.source_of(arguments.values[0].get())) return refuse_hook(tracer);
  return Ref::steal(PyObject_CallMethod(arguments.values[0].get(), "name", nullptr));
}

namespace {

Ref put_hook_on_node(Tracer& tracer, const Arguments& arguments, NodeHooks when) {
  if (arguments.values.size() != 2 || arguments.keyword_names || tracer.world.source_of(arguments.values[0].get()))
    return refuse_hook(tracer);
  const Ref hooks = hooks_of_node(arguments.values[0].get(), when);
  if (!hooks) return clear_error(), refuse_hook(tracer);
  return call_plainly(tracer, "minidynamo._runtime.tensor_hooks.add_to"_imported,
                      {hooks.get(), callback_of(arguments.values[1].get()).get()});
}

}  // namespace

Ref handlers::node_register_hook(Tracer& tracer, PyObject*, const Arguments& arguments) {
  return put_hook_on_node(tracer, arguments, NodeHooks::After);
}

Ref handlers::node_register_prehook(Tracer& tracer, PyObject*, const Arguments& arguments) {
  return put_hook_on_node(tracer, arguments, NodeHooks::Before);
}

}  // namespace minidynamo
