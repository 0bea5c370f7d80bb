#include "tensor/autograd/differentiable_call.h"

#include <ATen/FuncTorchTLS.h>
#include <c10/core/AutogradState.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/DynamicTypes.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/graph_task.h>
#include <torch/csrc/autograd/python_cpp_function.h>
#include <torch/csrc/autograd/saved_variable.h>
#include <torch/csrc/autograd/variable_info.h>

#include <memory>
#include <mutex>
#include <unordered_set>
#include <utility>

#include "python/process/held_gil.h"
#include "python/process/out_of_memory.h"
#include "tensor/fake/fake.h"
#include "tensor/fake/tensor_object.h"
#include "tensor/python_errors.h"
#include "tensor/torch_compat.h"

namespace minidynamo {
namespace {

using torch::autograd::SavedVariable;
using Tensors = torch::autograd::variable_list;
using Plan = std::shared_ptr<const DifferentiablePlan>;

// Nodes may be let go of by threads of the engine's, without the GIL, and after Python has ended.
Plan shared(DifferentiablePlan plan) {
  return {new DifferentiablePlan(std::move(plan)), [](const DifferentiablePlan* held) {
            if (!Py_IsInitialized()) return;
            const HeldGil gil;
            delete held;
          }};
}

Ref list_of(const std::vector<int64_t>& numbers, const Tensors& tensors) {
  Ref list = Ref::made(PyList_New(static_cast<Py_ssize_t>(numbers.size() + tensors.size())));
  Py_ssize_t next = 0;
  for (const int64_t number : numbers)
    PyList_SET_ITEM(list.get(), next++, Ref::made(PyLong_FromLongLong(number)).release());
  for (const at::Tensor& tensor : tensors) PyList_SET_ITEM(list.get(), next++, wrap_tensor(tensor).release());
  return list;
}

// The tensors in a tuple or list; what is no tensor is an undefined one.
Tensors tensors_in(PyObject* sequence) {
  Tensors tensors(static_cast<size_t>(PySequence_Fast_GET_SIZE(sequence)));
  for (size_t i = 0; i < tensors.size(); ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(sequence, static_cast<Py_ssize_t>(i));
    if (is_tensor(item)) tensors[i] = unpack_tensor(item);
  }
  return tensors;
}

// The last items of a tuple or list.
std::vector<int64_t> numbers_at_end(PyObject* sequence, size_t count) {
  std::vector<int64_t> numbers(count);
  const Py_ssize_t first = PySequence_Fast_GET_SIZE(sequence) - static_cast<Py_ssize_t>(count);
  for (size_t i = 0; i < count; ++i) {
    numbers[i] = PyLong_AsLongLong(PySequence_Fast_GET_ITEM(sequence, first + static_cast<Py_ssize_t>(i)));
    if (numbers[i] == -1 && PyErr_Occurred()) throw_python_error();
  }
  return numbers;
}

Ref call_boxed(PyObject* function, Ref arguments) {
  PyObject* const given[] = {arguments.get()};
  Ref returned = Ref::steal(PyObject_Vectorcall(function, given, 1, nullptr));
  if (!returned) throw_python_error();
  TORCH_CHECK(PyTuple_Check(returned.get()) || PyList_Check(returned.get()), "a compiled graph returned no sequence");
  return returned;
}

at::Tensor in_layout(const at::Tensor& gradient, const Tangent& tangent) {
  if (!tangent.memory_format.is(Py_None))
    return gradient.contiguous(reinterpret_cast<THPMemoryFormat*>(tangent.memory_format.get())->memory_format);
  if (gradient.strides() == at::IntArrayRef(tangent.stride) && gradient.sizes() == at::IntArrayRef(tangent.size))
    return gradient;
  return at::empty_strided(tangent.size, tangent.stride, gradient.options()).copy_(gradient);
}

class CompiledNode : public torch::autograd::Node {
 public:
  explicit CompiledNode(Plan plan) : plan_(std::move(plan)) {}

  std::string name() const override { return "CompiledFunctionBackward"; }
  Tensors apply(Tensors&& gradients) override;
  void release_variables() override;
  // `tensors` and `numbers`: what forward has saved; `values`: its results, as they are differentiated.
  void save(const Tensors& tensors, std::vector<int64_t> numbers, const std::vector<std::optional<at::Tensor>>& values,
            size_t inputs);

 private:
  Plan plan_;
  std::vector<SavedVariable> saved_;
  Tensors unchecked_;
  std::vector<int64_t> numbers_;
  std::vector<torch::autograd::VariableInfo> tangents_;  // for gradients that autograd leaves undefined
  size_t inputs_ = 0;
  bool is_released_ = false;

  Tensors take_saved();
  at::Tensor tangent(Tensors& gradients, size_t index) const;
};

void CompiledNode::save(const Tensors& tensors, std::vector<int64_t> numbers,
                        const std::vector<std::optional<at::Tensor>>& values, size_t inputs) {
  inputs_ = inputs;
  numbers_ = std::move(numbers);
  const size_t checked = tensors.size() - plan_->unchecked;
  saved_.reserve(checked);
  for (size_t i = 0; i < tensors.size(); ++i) {
    // A view would hold on to its base, and autograd to its history.
    const at::Tensor tensor = tensors[i].defined() && tensors[i].is_view() ? tensors[i].detach() : tensors[i];
    if (i < checked)
      saved_.emplace_back(tensor, tensor.defined() && tensor.grad_fn().get() == this);
    else
      unchecked_.push_back(tensor);
  }
  for (const Tangent& tangent : plan_->tangents) {
    const std::optional<at::Tensor>& value = values[tangent.position];
    tangents_.push_back(value ? torch::autograd::VariableInfo(*value) : torch::autograd::VariableInfo());
  }
}

void CompiledNode::release_variables() {
  const std::lock_guard<std::mutex> lock(mutex_);
  saved_.clear();
  unchecked_.clear();
  is_released_ = true;
}

// Python's lock is not held: hooks on saved tensors take it.
Tensors CompiledNode::take_saved() {
  const std::lock_guard<std::mutex> lock(mutex_);
  TORCH_CHECK(!is_released_, torch::autograd::ERR_BACKWARD_TWICE);
  const auto self = c10::intrusive_ptr<Node>::reclaim_copy(this);
  Tensors arguments;
  arguments.reserve(saved_.size() + unchecked_.size() + tangents_.size());
  for (const SavedVariable& saved : saved_) arguments.push_back(saved.unpack(self));
  arguments.insert(arguments.end(), unchecked_.begin(), unchecked_.end());
  if (torch::autograd::get_current_graph_task_keep_graph()) {
    for (const size_t i : plan_->donated) {
      if (i >= arguments.size()) continue;
      at::Tensor& kept = arguments[i];
      kept = at::empty_strided(kept.sizes(), kept.strides(), kept.options()).copy_(kept);
    }
  } else {
    saved_.clear();
    unchecked_.clear();
    is_released_ = true;
  }
  return arguments;
}

at::Tensor CompiledNode::tangent(Tensors& gradients, size_t index) const {
  const Tangent& tangent = plan_->tangents[index];
  at::Tensor gradient = std::move(gradients[tangent.position]);
  at::OptionalDeviceGuard guard;
  if (!gradient.defined()) gradient = tangents_[index].zeros(guard);
  return in_layout(gradient, tangent);
}

Tensors CompiledNode::apply(Tensors&& gradients) {
  TORCH_CHECK(
      !c10::impl::tls_is_dispatch_key_included(c10::DispatchKey::FuncTorchDynamicLayerFrontMode),
      "a compiled backward cannot run under vmap, grad or vjp; apply the transform inside the compiled function");
  TORCH_CHECK(
      plan_->is_deterministic || !at::globalContext().deterministicAlgorithms(),
      "the backward of a graph that was compiled without torch.use_deterministic_algorithms(True) runs under it");
  Tensors arguments = take_saved();
  for (size_t i = 0; i < plan_->tangents.size(); ++i) arguments.push_back(tangent(gradients, i));
  gradients.clear();
  const HeldGil gil;
  Ref list = list_of(numbers_, arguments);
  arguments.clear();
  Ref returned;
  if (at::GradMode::is_enabled()) {
    PyObject* const given[] = {plan_->backward.get(), list.get()};
    returned = Ref::steal(PyObject_Vectorcall(plan_->backward_with_graph.get(), given, 2, nullptr));
    if (!returned) throw_python_error();
  } else {
    returned = call_boxed(plan_->backward.get(), std::move(list));
  }
  TORCH_CHECK(static_cast<size_t>(PySequence_Fast_GET_SIZE(returned.get())) == inputs_,
              "a compiled backward graph returned another number of gradients than its inputs");
  return tensors_in(returned.get());
}

// The results of the forward graph as autograd is to see them.
std::vector<std::optional<at::Tensor>> with_history(const DifferentiablePlan& plan, const Tensors& inputs,
                                                    Tensors values,
                                                    const c10::intrusive_ptr<torch::autograd::Node>& node,
                                                    torch_compat::AttachedNode& attached) {
  for (const size_t i : plan.unsafe_views) values[i] = at::_unsafe_view(values[i], values[i].sizes());
  std::vector<std::optional<at::Tensor>> raw;
  raw.reserve(values.size());
  for (at::Tensor& value : values) raw.push_back(value.defined() ? std::optional(std::move(value)) : std::nullopt);
  for (const size_t i : plan.hidden) raw[i].reset();  // it may be a tensor that is a value too
  std::unordered_set<at::TensorImpl*> not_differentiable;
  for (const size_t i : plan.not_differentiable)
    if (raw[i]) not_differentiable.insert(raw[i]->unsafeGetTensorImpl());
  auto no_jvp = [](const Tensors&, const Tensors&) -> Tensors {
    TORCH_CHECK_NOT_IMPLEMENTED(false, "a compiled graph has no forward mode derivative");
  };
  auto as_view = [](const at::Tensor& tensor) { return tensor.view_as(tensor); };
  return attached.attach(inputs, not_differentiable, raw, node, no_jvp, as_view);
}

// Views of results are made again by the operations that made them.
class ViewReplay {
 public:
  ViewReplay() : before_(c10::AutogradState::get_tls_state().get_view_replay_enabled()) { set(true); }
  ~ViewReplay() { set(before_); }
  ViewReplay(const ViewReplay&) = delete;
  ViewReplay& operator=(const ViewReplay&) = delete;

 private:
  bool before_;
  static void set(bool on) { c10::AutogradState::get_tls_state().set_view_replay_enabled(on); }
};

Ref run_forward(const Plan& plan, PyObject* list) {
  if (const auto& transforms = at::functorch::functorchTLSAccessor()) transforms->checkSupportsCppAutogradFunction();
  Tensors inputs = tensors_in(list);
  for (const size_t i : plan->counted)
    if (!inputs[i].is_inference()) inputs[i].unsafeGetTensorImpl()->bump_version();
  for (const size_t i : plan->detached) {
    if (!inputs[i].defined()) continue;
    inputs[i] = inputs[i].detach();
    if (PyList_SetItem(list, static_cast<Py_ssize_t>(i), wrap_tensor(inputs[i]).release()) < 0) throw_python_error();
  }
  // Results may require gradients although the call is made where autograd is off: the graph may switch it on inside.
  const at::AutoGradMode gradients_on(true);
  const ViewReplay replay;
  c10::intrusive_ptr<CompiledNode> node;
  if (torch::autograd::any_variable_requires_grad(inputs)) {
    node = c10::make_intrusive<CompiledNode>(plan);
    node->set_next_edges(torch::autograd::collect_next_edges(inputs));
    node->clear_input_metadata();
  }
  Ref returned;
  {
    const at::AutoGradMode off(false);
    const c10::AutoFwGradMode forward_off(false);
    returned = call_boxed(plan->forward.get(), Ref::borrow(list));
  }
  Tensors values = tensors_in(returned.get());
  TORCH_CHECK(plan->saved >= plan->values && values.size() >= plan->saved + plan->unchecked + plan->numbers,
              "a compiled graph returned too few tensors");
  std::vector<int64_t> numbers = numbers_at_end(returned.get(), plan->numbers);
  const Tensors saved(values.begin() + static_cast<ptrdiff_t>(plan->saved),
                      values.end() - static_cast<ptrdiff_t>(plan->numbers));
  values.resize(plan->values);
  torch_compat::AttachedNode attached;
  const std::vector<std::optional<at::Tensor>> results = with_history(*plan, inputs, std::move(values), node, attached);
  if (node) node->save(saved, std::move(numbers), results, inputs.size());
  attached.tell_hooks();
  Ref tuple = Ref::made(PyTuple_New(static_cast<Py_ssize_t>(results.size())));
  for (size_t i = 0; i < results.size(); ++i) {
    PyObject* raw = PySequence_Fast_GET_ITEM(returned.get(), static_cast<Py_ssize_t>(i));
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i),
                     results[i] ? wrap_tensor(*results[i]).release() : Ref::borrow(raw).release());
  }
  return tuple;
}

constexpr const char* kCapsule = "minidynamo.differentiable";

void destroy(PyObject* capsule) noexcept { delete static_cast<Plan*>(PyCapsule_GetPointer(capsule, kCapsule)); }

PyObject* call_differentiable(PyObject* self, PyObject* list) {
  if (!PyList_Check(list)) {
    PyErr_SetString(PyExc_TypeError, "a compiled graph takes its inputs as one list");
    return nullptr;
  }
  try {
    return run_forward(*static_cast<const Plan*>(PyCapsule_GetPointer(self, kCapsule)), list).release();
  } catch (...) {
    set_python_error_from_exception();
    return nullptr;
  }
}

PyMethodDef call_differentiable_definition = {
    "call_differentiable", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(entry<call_differentiable>)),
    METH_O, nullptr};

// The class of grad_fn in Python.
void register_node_class() {
  static PyTypeObject type;
  static constinit bool is_registered = false;
  if (std::exchange(is_registered, true)) return;
  torch::autograd::_initFunctionPyTypeObject(type, "CompiledFunctionBackward", nullptr, nullptr);
  torch::autograd::registerCppFunction(typeid(CompiledNode), &type);
}

}  // namespace

Ref differentiable_callable(DifferentiablePlan plan) {
  register_node_class();
  auto held = std::make_unique<Plan>(shared(std::move(plan)));
  const Ref capsule = Ref::made(PyCapsule_New(held.get(), kCapsule, destroy));
  held.release();
  return Ref::made(PyCFunction_New(&call_differentiable_definition, capsule.get()));
}

}  // namespace minidynamo
