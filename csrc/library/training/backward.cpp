// torch.autograd.grad() and backward() come to one function of torch's, which calls autograd's engine. That is really
// called, and each operator of the pass is recorded.
//
// A backward pass uses what the operators of the forward pass saved, much of which no node of a graph of Python calls
// returns. And what it accumulates in `.grad` would be lost where such a graph is differentiated once more. So a trace
// that comes to one is made again *below autograd*: every operator of it is recorded, and the graph runs with autograd
// off. Where no tensor accumulates, nor the pass needs what it cannot have, the graph stays one of Python calls.
//
// `.grad` of tensors from before the call is state like other attributes: what it is comes from the effect log or, with
// a guard, from the tensor; what it becomes goes into the log. A tensor that the trace made has it itself.
#include "library/rules/handlers.h"

#include <algorithm>

#include "library/training/tensor_hooks.h"
#include "model/objects/function.h"
#include "model/tensors/tensor_call.h"
#include "model/tensors/transform_call.h"
#include "python/error_text.h"
#include "tensor/autograd/transforms.h"
#include "tensor/fake/tensor_facts.h"
#include "world/external/known_types.h"
#include "world/state/held_values.h"

namespace minidynamo::handlers {
namespace {

constexpr const char* kOlderHistory = "a gradient is asked for where a tensor has a history from before the call";

PyObject* keyword_value(const Arguments& arguments, const char* name) {
  const Py_ssize_t count = arguments.keyword_names ? PyTuple_GET_SIZE(arguments.keyword_names) : 0;
  for (Py_ssize_t i = 0; i < count; ++i)
    if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(arguments.keyword_names, i), name) == 0)
      return arguments.values[arguments.positional_count() + static_cast<size_t>(i)].get();
  return nullptr;
}

// One call: (tensors, grad_tensors, keep_graph, create_graph, inputs, allow_unreachable=..., accumulate_grad=...).
class BackwardPass {
 public:
  BackwardPass(Tracer& tracer, PyObject* callable, const Arguments& arguments)
      : tracer_(tracer), callable_(callable), arguments_(arguments) {
    const auto items = [&](size_t position) {
      PyObject* given = position < arguments.positional_count() ? arguments.values[position].get() : nullptr;
      std::vector<PyObject*> tensors;
      for (Py_ssize_t i = 0; given && PyTuple_Check(given) && i < PyTuple_GET_SIZE(given); ++i)
        if (is_tensor(PyTuple_GET_ITEM(given, i))) tensors.push_back(PyTuple_GET_ITEM(given, i));
      return tensors;
    };
    outputs_ = items(0);
    inputs_ = items(4);
    PyObject* accumulates = keyword_value(arguments, "accumulate_grad");
    accumulates_ = accumulates == Py_True || inputs_.empty();
    const bool is_complete = arguments.positional_count() > 3;
    keeps_history_ = is_complete && (arguments.values[2].is(Py_True) || arguments.values[3].is(Py_True));
  }

  Ref run() {
    if (tracer_.transforms.inside()) return of_transform();
    return tracer_.limits.below_autograd ? below_autograd() : among_python_calls();
  }

 private:
  Tracer& tracer_;
  PyObject* const callable_;
  const Arguments& arguments_;
  std::vector<PyObject*> outputs_, inputs_;
  bool accumulates_ = false, keeps_history_ = false;

  std::nullptr_t refuse(const char* why) { return tracer_.abort(BreakReason::AutogradCall, why); }
  Ref call_engine() { return call_recording_operators(tracer_, NodeKind::CallFunction, callable_, arguments_); }

  // Hooks and the backward of an autograd.Function are the program's own code, which is traced when the engine comes to
  // it.
  Ref call_engine_with_callbacks() {
    const Ref result = call_that_calls_back(
        tracer_, "torch.autograd.variable.Variable._execution_engine.run_backward"_imported, arguments_);
    if (!result && !tracer_.is_over())
      return tracer_.abort(BreakReason::OperatorRaised, "a backward pass raised " + take_error_text());
    return result;
  }

  // The history of a tensor from before the trace is not in the fake.
  bool has_older_history() const {
    return std::ranges::any_of(tracer_.world.fakes(),
                               [](PyObject* fake) { return requires_gradient(fake) && !is_leaf_with_gradient(fake); });
  }

  Ref of_transform() {
    if (inputs_.empty()) return refuse("gradients are accumulated in tensors");
    if (!std::ranges::all_of(inputs_, is_transform_wrapper) && has_older_history()) return refuse(kOlderHistory);
    return call_engine();
  }

  // Nothing but gradients of tensors is wanted.
  Ref among_python_calls() {
    if (inputs_.empty() || accumulates_) {
      tracer_.backward.needs_below_autograd = true;
      const std::string& tried = tracer_.limits.why_not_below_autograd;
      return tracer_.abort(
          BreakReason::AutogradCall,
          "gradients are accumulated in tensors" + (tried.empty() ? "" : ", and not in one graph, since " + tried));
    }
    if (has_older_history()) return refuse(kOlderHistory);
    for (PyObject* input : inputs_)
      if (!has_no_hooks(input)) return tracer_.backward.needs_below_autograd = true, nullptr;
    Ref result = call_engine();
    tracer_.backward.needs_below_autograd = tracer_.is_over();
    return result;
  }

  Ref below_autograd() {
    const HistoryEnds ends = ends_of_histories(outputs_);
    if (ends.is_partly_outside) return refuse(kOlderHistory);
    std::vector<PyObject*> reached = inputs_, receivers;
    if (inputs_.empty())
      for (const Ref& leaf : ends.leaves) reached.push_back(leaf.get());
    for (PyObject* leaf : reached) {
      if (accumulates_ && !is_leaf_with_gradient(leaf))
        return refuse("a gradient is accumulated in a tensor that is no leaf");
      // A pass within another one (in a hook, in a backward) accumulates where the outer one accumulates.
      if (!is_outside(leaf) || tracer_.backward.receiving.count(leaf)) continue;
      if (!give_hooks(tracer_, leaf)) return nullptr;
      if (!accumulates_) continue;
      if (!give_gradient(leaf)) return nullptr;
      receivers.push_back(leaf);
    }
    tracer_.backward.receiving.insert(receivers.begin(), receivers.end());
    if (!keeps_history_) tracer_.backward.used_up.add(outputs_);
    const Ref result = call_engine_with_callbacks();
    bool is_told = static_cast<bool>(result);
    for (PyObject* receiver : receivers) tracer_.backward.receiving.erase(receiver);
    for (PyObject* receiver : receivers) is_told = is_told && take_gradient(receiver);
    for (PyObject* receiver : receivers) set_gradient(receiver, Py_None);
    if (!is_told) return nullptr;
    ++tracer_.backward.passes;
    return result;
  }

  bool is_outside(PyObject* leaf) const { return tracer_.world.source_of(leaf) != nullptr; }

  bool has_no_hooks(PyObject* leaf) {
    return !is_outside(leaf) || load_tensor_attribute(tracer_, leaf, "_backward_hooks"_name);
  }

  // Sets a leaf's gradient to the one that the program has left there.
  bool give_gradient(PyObject* leaf) {
    const Ref before = load_tensor_attribute(tracer_, leaf, "grad"_name);
    if (before) set_gradient(leaf, before.get());
    return static_cast<bool>(before);
  }

  bool take_gradient(PyObject* leaf) {
    const Ref before = load_tensor_attribute(tracer_, leaf, "grad"_name), now = tensor_fact(leaf, TensorFact::Gradient);
    if (!before || !now) return false;
    if (!now.is(before.get())) tracer_.effects.write(leaf, "grad"_name, now.get());
    return true;
  }
};

}  // namespace

// Tensor.backward() is Python code, other than most methods of tensors.
Ref trace_backward(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  return call_function(tracer, callable, arguments);
}

// The engine's function, which autograd.grad() and backward() call.
Ref run_backward(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  return BackwardPass(tracer, callable, arguments).run();
}

}  // namespace minidynamo::handlers
