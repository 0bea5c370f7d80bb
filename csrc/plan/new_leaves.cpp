#include "plan/new_leaves.h"

#include <algorithm>

#include "graph/edges.h"
#include "python/process/out_of_memory.h"
#include "tensor/autograd/history.h"
#include "tensor/autograd/transforms.h"
#include "tensor/fake/tensor_facts.h"
#include "world/state/held_values.h"

namespace minidynamo {
namespace {

bool has_hooks(PyObject* leaf) {
  return !tensor_fact(leaf, TensorFact::BackwardHooks).is(Py_None) ||
         !tensor_fact(leaf, TensorFact::AccumulateHooks).is(Py_None);
}

// A tensor from before the call whose memory is another's from some place of the trace on (model/tensors/new_data.h).
bool has_new_data(const Tracer& tracer, PyObject* tensor) {
  return tracer.world.source_of(tensor) && tracer.effects.pending(tensor, "data"_name);
}

// True if the graph computes with the new memory what autograd is to know of.
bool is_differentiated(const Graph& graph, PyObject* tensor) {
  const NodeId data = graph.producer(tensor);
  auto requires_some = [](PyObject* held) { return is_fake(held) && requires_gradient(held); };
  return std::ranges::any_of(graph.nodes(), [&](const Node& node) {
    bool uses = false;
    auto see = [&](NodeId id) { uses = uses || id == data; };
    for (const Argument& argument : node.args) for_each_edge(argument, see);
    for (const auto& [name, argument] : node.kwargs) for_each_edge(argument, see);
    return uses && !node.example.is(tensor) && any_held(node.example.get(), requires_some);
  });
}

}  // namespace

bool may_lose_leaf(const Tracer& tracer, const std::vector<NodeId>& outputs, PyObject* leaf) {
  if (has_new_data(tracer, leaf)) return !is_differentiated(tracer.graph, leaf);
  auto is_later_than_leaf = [&](PyObject* tensor) {
    return tensor != leaf && is_fake(tensor) && comes_from(tensor, {leaf});
  };
  if (std::ranges::any_of(tracer.world.fakes(), is_later_than_leaf)) return false;
  bool leaves = tracer.world.source_of(leaf) != nullptr, is_origin = false;
  for (const NodeId output : outputs) {
    PyObject* example = tracer.graph.nodes()[static_cast<size_t>(output)].example.get();
    leaves = leaves || example == leaf;
    if (!is_later_than_leaf(example)) continue;
    is_origin = true;
    // A view knows what it is one of. One from before its base was told requires a gradient as the base does.
    if (!has_history(example) || tensor_fact(example, TensorFact::IsView).is(Py_True)) return false;
  }
  // Residual code makes no leaf that is a view, as one is that was a view when it was told.
  const bool is_new = !tracer.world.source_of(leaf);
  if (is_new && leaves && tensor_fact(leaf, TensorFact::IsView).is(Py_True)) return false;
  return !is_origin || (!leaves && !has_hooks(leaf));
}

bool history_reaches_new_leaf(const Tracer& tracer, PyObject* fake) {
  const bool made_some = std::ranges::any_of(
      tracer.assumptions, [](const Assumption& one) { return one.kind == Assumption::Kind::IsNoOrigin; });
  if (!made_some) return false;  // without a walk
  const HistoryEnds ends = ends_of_histories({fake});
  return !ends.is_partly_outside && !ends.leaves.empty() &&
         std::ranges::none_of(ends.leaves, [&](const Ref& leaf) { return tracer.world.source_of(leaf.get()); });
}

}  // namespace minidynamo
