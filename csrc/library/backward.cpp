// torch.autograd.grad() and backward() come to one function of torch's, which calls autograd's engine. That is really
// called, and each operator of the pass is recorded.
//
// A backward pass uses what the operators of the forward pass saved, much of which no node of a graph of Python calls
// gives. And what it accumulates in `.grad` would be lost where such a graph is differentiated once more. So a trace
// that comes to one is made again *below autograd*: every operator of it is recorded, and the graph runs with autograd
// off. Where no tensor accumulates, nor the pass needs what it cannot have, the graph stays one of Python calls.
//
// `.grad` of tensors from before the call is state like other attributes: what it is comes from the effect log or, with
// a guard, from the tensor; what it becomes goes into the log. A tensor that the trace made has it itself.
#include "library/backward.h"

#include <algorithm>

#include "model/function.h"
#include "model/held_values.h"
#include "model/tensor_call.h"
#include "model/transform_call.h"
#include "tensor/tensor_facts.h"
#include "tensor/transforms.h"

namespace minidynamo::special {
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

  std::nullptr_t refuse(const char* why) { return tracer_.give_up(BreakReason::AutogradCall, why); }
  Ref call_engine() { return call_one_by_one(tracer_, NodeKind::CallFunction, callable_, arguments_); }

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
      tracer_.needs_below_autograd = true;
      const std::string& tried = tracer_.limits.why_not_below_autograd;
      return tracer_.give_up(
          BreakReason::AutogradCall,
          "gradients are accumulated in tensors" + (tried.empty() ? "" : ", and not in one graph, since " + tried));
    }
    if (has_older_history()) return refuse(kOlderHistory);
    Ref result = call_engine();
    tracer_.needs_below_autograd = tracer_.broken();
    return result;
  }

  Ref below_autograd() {
    const HistoryEnds ends = ends_of_histories(outputs_);
    if (ends.is_partly_outside) return refuse(kOlderHistory);
    std::vector<PyObject*> receivers;
    if (accumulates_) {
      if (inputs_.empty())
        for (const Ref& leaf : ends.leaves) receivers.push_back(leaf.get());
      else
        receivers = inputs_;
      for (PyObject* receiver : receivers)
        if (!prepare(receiver)) return nullptr;
    }
    if (!keeps_history_) tracer_.used_up.add(outputs_);
    const Ref result = call_engine();
    bool is_told = static_cast<bool>(result);
    for (PyObject* receiver : receivers) is_told = is_told && take_gradient(receiver);
    for (PyObject* receiver : receivers)
      if (is_outside(receiver)) set_gradient(receiver, Py_None);
    if (!is_told) return nullptr;
    ++tracer_.backward_passes;
    return result;
  }

  bool is_outside(PyObject* leaf) const { return tracer_.world.source_of(leaf) != nullptr; }

  // Gives a leaf the gradient that the program has left there. What else would run when it gets one is the program's.
  bool prepare(PyObject* leaf) {
    static PyObject* const grad_name = interned("grad");
    static PyObject* const hooks_names[] = {interned("_backward_hooks"), interned("_post_accumulate_grad_hooks")};
    if (!is_leaf_with_gradient(leaf)) return refuse("a gradient is accumulated in a tensor that is no leaf") != nullptr;
    if (!is_outside(leaf)) return true;
    for (PyObject* name : hooks_names)
      if (!load_tensor_attribute(tracer_, leaf, name)) return false;
    if (!load_engine_hooks(tracer_, leaf)) return false;
    const Ref before = load_tensor_attribute(tracer_, leaf, grad_name);
    if (!before) return false;
    set_gradient(leaf, before.get());
    return true;
  }

  bool take_gradient(PyObject* leaf) {
    static PyObject* const grad_name = interned("grad");
    if (!is_outside(leaf)) return true;
    const Ref before = load_tensor_attribute(tracer_, leaf, grad_name), now = tensor_fact(leaf, TensorFact::Gradient);
    if (!before || !now) return false;
    if (!now.is(before.get())) tracer_.effects.write(leaf, grad_name, now.get());
    return true;
  }
};

}  // namespace

Ref trace_backward(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  return call_function(tracer, callable, arguments);
}

Ref run_backward(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  return BackwardPass(tracer, callable, arguments).run();
}

}  // namespace minidynamo::special
