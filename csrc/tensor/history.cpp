#include "tensor/history.h"

#include <torch/csrc/autograd/functions/accumulate_grad.h>
#include <torch/csrc/autograd/variable.h>

#include <unordered_set>

#include "python/out_of_memory.h"
#include "tensor/fake.h"
#include "tensor/fake_tensor.h"

namespace minidynamo {
namespace {

using NodeHold = decltype(std::declval<const torch::autograd::Edge&>().function);

// Calls visit(node) for each node that the tensors were computed by.
template <typename Visit>
void walk(const std::vector<PyObject*>& tensors, const Visit& visit) {
  std::unordered_set<const torch::autograd::Node*> seen;
  std::vector<NodeHold> open;
  for (PyObject* object : tensors)
    if (NodeHold node = torch::autograd::impl::gradient_edge(THPVariable_Unpack(object)).function)
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

}  // namespace

HistoryEnds ends_of_histories(const std::vector<PyObject*>& tensors) {
  HistoryEnds ends;
  walk(tensors, [&](const NodeHold& node) {
    const auto* end = dynamic_cast<const torch::autograd::AccumulateGrad*>(node.get());
    if (!end || !end->variable.defined()) return;
    // What stands for the time before the trace has no object (fake_tensor.cpp).
    PyObject* leaf = end->variable.unsafeGetTensorImpl()->pyobj_slot()->load_pyobj();
    if (leaf && is_fake(leaf))
      ends.leaves.push_back(Ref::borrow(leaf));
    else
      ends.is_partly_outside = true;
  });
  return ends;
}

bool has_history(PyObject* tensor) noexcept { return THPVariable_Unpack(tensor).grad_fn() != nullptr; }

Ref name_of_history(PyObject* tensor) {
  const NodeHold node = THPVariable_Unpack(tensor).grad_fn();
  return Ref::made(PyUnicode_FromString(node ? node->name().c_str() : ""));
}

void set_gradient(PyObject* fake, PyObject* gradient) {
  THPVariable_Unpack(fake).mutable_grad() = gradient == Py_None ? at::Tensor() : THPVariable_Unpack(gradient);
}

void UsedUpHistories::add(const std::vector<PyObject*>& tensors) {
  walk(tensors, [&](const NodeHold& node) {
    nodes_.try_emplace(node.get(), std::shared_ptr<const void>(node.get(), [node](const void*) {}));
  });
}

bool UsedUpHistories::has(PyObject* tensor) const noexcept {
  return nodes_.count(THPVariable_Unpack(tensor).grad_fn().get()) > 0;
}

}  // namespace minidynamo
