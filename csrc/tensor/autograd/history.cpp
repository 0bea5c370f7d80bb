#include "tensor/autograd/history.h"

#include <torch/csrc/autograd/functions/accumulate_grad.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/python_cpp_function.h>
#include <torch/csrc/autograd/python_function.h>
#include <torch/csrc/autograd/saved_variable.h>
#include <torch/csrc/autograd/variable.h>

#include <unordered_set>

#include "python/native_function.h"
#include "python/process/held_gil.h"
#include "python/process/out_of_memory.h"
#include "tensor/fake/fake.h"
#include "tensor/fake/fake_tensor.h"
#include "tensor/fake/tensor_object.h"
#include "tensor/python_errors.h"

namespace minidynamo {
namespace {

using NodeHold = decltype(std::declval<const torch::autograd::Edge&>().function);

// Calls visit(node) for each node that the tensors were computed by.
template <typename Visit>
void walk(const std::vector<PyObject*>& tensors, const Visit& visit) {
  std::unordered_set<const torch::autograd::Node*> seen;
  std::vector<NodeHold> open;
  for (PyObject* object : tensors)
    if (NodeHold node = torch::autograd::impl::gradient_edge(unpack_tensor(object)).function)
      open.push_back(std::move(node));
  while (!open.empty()) {
    const NodeHold node = std::move(open.back());
    open.pop_back();
    if (!seen.insert(node.get()).second) continue;
    visit(node);
    for (const torch::autograd::Edge& edge : node->next_edges())
      if (edge.function) open.push_back(edge.function);
  }
}

using Variables = torch::autograd::variable_list;

Ref tuple_of(const Variables& tensors) {
  Ref tuple = Ref::made(PyTuple_New(static_cast<Py_ssize_t>(tensors.size())));
  for (size_t i = 0; i < tensors.size(); ++i)
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), wrap_tensor(tensors[i]).release());
  return tuple;
}

// The gradients that a hook returned in place of some, as torch takes them.
Variables gradients_in(const Ref& given, size_t count) {
  const Ref tuple = PyTuple_Check(given.get()) ? given : Ref::made(PyTuple_Pack(1, given.get()));
  TORCH_CHECK(static_cast<size_t>(PyTuple_GET_SIZE(tuple.get())) == count, "a hook gave another number of gradients");
  Variables gradients(count);
  for (size_t i = 0; i < count; ++i) {
    PyObject* one = PyTuple_GET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i));
    TORCH_CHECK(one == Py_None || is_tensor(one), "a hook gave something else than gradients");
    if (one != Py_None) gradients[i] = unpack_tensor(one);
  }
  return gradients;
}

// A dict of hooks, and how each is called.
template <typename Call>
Variables through_hooks(const Ref& hooks, Variables gradients, const Call& call) {
  const HeldGil gil;
  const Ref values = Ref::made(PyDict_Values(hooks.get()));
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(values.get()); ++i) {
    const Ref given = call(PyList_GET_ITEM(values.get(), i), tuple_of(gradients));
    if (!given) throw_python_error();
    if (!given.is(Py_None)) gradients = gradients_in(given, gradients.size());
  }
  return gradients;
}

struct HooksBefore : torch::autograd::FunctionPreHook {
  explicit HooksBefore(Ref dict) : hooks(std::move(dict)) {}
  Variables operator()(const Variables& gradients) override {
    return through_hooks(hooks, gradients, [](PyObject* hook, const Ref& now) {
      return Ref::steal(PyObject_CallOneArg(hook, now.get()));
    });
  }
  Ref hooks;
};

struct HooksAfter : torch::autograd::FunctionPostHook {
  explicit HooksAfter(Ref dict) : hooks(std::move(dict)) {}
  Variables operator()(const Variables& made, const Variables& given) override {
    return through_hooks(hooks, made, [&](PyObject* hook, const Ref& now) {
      return Ref::steal(PyObject_CallFunctionObjArgs(hook, now.get(), tuple_of(given).get(), nullptr));
    });
  }
  Ref hooks;
};

// In the place of all that computed a tensor.
struct OtherHistory : torch::autograd::Node {
  OtherHistory(std::string given, bool is_used_up) : text(std::move(given)), used_up(is_used_up) {}
  Variables apply(Variables&&) override {
    TORCH_CHECK(!used_up, torch::autograd::ERR_BACKWARD_TWICE);
    return {};
  }
  std::string name() const override { return text; }
  std::string text;
  bool used_up;
};

PyObject* with_other_history(PyObject* const* arguments, Py_ssize_t count, bool is_used_up) {
  if (count != 2 || !is_tensor(arguments[0]) || !PyUnicode_Check(arguments[1])) {
    PyErr_Format(PyExc_TypeError, "with_%s_history(tensor, name)", is_used_up ? "used_up" : "unseen");
    return nullptr;
  }
  try {
    // One that is a view, or that somebody else has too, cannot get another history.
    at::Tensor result = unpack_tensor(arguments[0]).detach();
    torch::autograd::set_history(result, c10::make_intrusive<OtherHistory>(PyUnicode_AsUTF8(arguments[1]), is_used_up));
    return wrap_tensor(std::move(result)).release();
  } catch (...) {
    set_python_error_from_exception();
    return nullptr;
  }
}

PyObject* with_unseen_history(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  return with_other_history(arguments, count, false);
}

PyObject* with_used_up_history(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  return with_other_history(arguments, count, true);
}

NodeHold node_of(PyObject* object) {
  if (PyObject_TypeCheck(object, &THPFunctionType)) return reinterpret_cast<THPFunction*>(object)->cdata;
  if (torch::autograd::THPCppFunction_Check(object))
    return reinterpret_cast<torch::autograd::THPCppFunction*>(object)->cdata;
  return {};
}

template <typename Kind, typename Hooks>
Ref dict_among(const Hooks& hooks) {
  for (const auto& hook : hooks)
    if (const auto* own = dynamic_cast<const Kind*>(hook.get())) return own->hooks;
  return nullptr;
}

}  // namespace

Ref hooks_of_node(PyObject* object, NodeHooks when) {
  const NodeHold node = node_of(object);
  if (!node) {
    PyErr_SetString(PyExc_TypeError, "no node of autograd's graph");
    return nullptr;
  }
  const bool is_before = when == NodeHooks::Before;
  Ref dict = is_before ? dict_among<HooksBefore>(node->pre_hooks()) : dict_among<HooksAfter>(node->post_hooks());
  if (dict) return dict;
  dict = Ref::made(PyDict_New());
  if (is_before)
    node->add_pre_hook(std::make_unique<HooksBefore>(dict));
  else
    node->add_post_hook(std::make_unique<HooksAfter>(dict));
  return dict;
}

HistoryEnds ends_of_histories(const std::vector<PyObject*>& tensors) {
  HistoryEnds ends;
  walk(tensors, [&](const NodeHold& node) {
    const auto* end = dynamic_cast<const torch::autograd::AccumulateGrad*>(node.get());
    if (!end || !end->variable.defined()) return;
    // The stand-in for the time before the trace has no object (tensor/fake/fake_tensor.cpp).
    PyObject* leaf = end->variable.unsafeGetTensorImpl()->pyobj_slot()->load_pyobj();
    if (leaf && is_fake(leaf))
      ends.leaves.push_back(Ref::borrow(leaf));
    else
      ends.is_partly_outside = true;
  });
  return ends;
}

bool has_history(PyObject* tensor) noexcept { return unpack_tensor(tensor).grad_fn() != nullptr; }

Ref name_of_history(PyObject* tensor) {
  const NodeHold node = unpack_tensor(tensor).grad_fn();
  return Ref::made(PyUnicode_FromString(node ? node->name().c_str() : ""));
}

PyObject* with_unseen_history_callable() {
  return native_function<METH_FASTCALL, with_unseen_history>("with_unseen_history");
}

PyObject* with_used_up_history_callable() {
  return native_function<METH_FASTCALL, with_used_up_history>("with_used_up_history");
}

void set_gradient(PyObject* fake, PyObject* gradient) {
  unpack_tensor(fake).mutable_grad() = gradient == Py_None ? at::Tensor() : unpack_tensor(gradient);
}

void UsedUpHistories::add(const std::vector<PyObject*>& tensors) {
  walk(tensors, [&](const NodeHold& node) {
    nodes_.try_emplace(node.get(), std::shared_ptr<const void>(node.get(), [node](const void*) {}));
  });
}

bool UsedUpHistories::has(PyObject* tensor) const noexcept {
  return nodes_.count(unpack_tensor(tensor).grad_fn().get()) > 0;
}

}  // namespace minidynamo
