// Taking a body out of the graph that it was recorded in.
#include "graph/subgraph.h"

#include <algorithm>
#include <functional>

#include "graph/edges.h"
#include "python/process/out_of_memory.h"
#include "tensor/fake/fake.h"

namespace minidynamo {
namespace {

void destroy(PyObject* capsule) noexcept {
  delete static_cast<Subgraph*>(PyCapsule_GetPointer(capsule, kSubgraphCapsule));
}

void renumber(Argument& argument, const std::function<NodeId(NodeId)>& number) {
  if (argument.kind == Argument::Kind::Node) argument.node = number(argument.node);
  for (Argument& item : argument.items) renumber(item, number);
}

void renumber(Node& node, const std::function<NodeId(NodeId)>& number) {
  for (Argument& argument : node.args) renumber(argument, number);
  for (auto& [name, argument] : node.kwargs) renumber(argument, number);
}

std::string name_of(const Node& outer) {
  const char* name = outer.kind == NodeKind::Placeholder ? PyUnicode_AsUTF8(outer.target.get()) : "operand";
  return name ? name : (clear_error(), "operand");
}

}  // namespace

std::unique_ptr<Subgraph> Graph::take_from(NodeId start, PyObject* output) {
  auto taken = std::make_unique<Subgraph>();
  if (!argument_of(output, taken->output)) return nullptr;

  const auto count = static_cast<NodeId>(nodes_.size());
  const auto stays = [&](NodeId id) {
    return id < start || (nodes_[id].kind == NodeKind::Placeholder && !nodes_[id].parameter);
  };
  std::vector<bool> used(count);
  const auto use = [&](NodeId id) { used[id] = true; };
  for_each_edge(taken->output, use);
  for (NodeId id = count; id-- > start;) {
    if (stays(id)) continue;
    used[id] = used[id] || nodes_[id].impure;
    if (used[id]) for_each_edge_of(nodes_[id], use);
  }

  // Where each node of this graph is found in the body.
  std::vector<NodeId> inside(count, kNoNode);
  Graph& body = taken->graph;
  for (NodeId id = start; id < count; ++id)
    if (nodes_[id].parameter) {
      inside[id] = body.add_placeholder(name_of(nodes_[id]), nodes_[id].example);
      ++taken->parameters;
    }
  bool can_be_given = true;
  const auto lift = [&](NodeId id) {
    if (!stays(id) || inside[id] != kNoNode) return;
    can_be_given = can_be_given && is_fake(nodes_[id].example.get());
    inside[id] = body.add_placeholder(name_of(nodes_[id]), nodes_[id].example);
    taken->operands.push_back(nodes_[id].example);
  };
  for (NodeId id = start; id < count; ++id)
    if (used[id] && !stays(id)) for_each_edge_of(nodes_[id], lift);
  for_each_edge(taken->output, lift);
  if (!can_be_given) {
    PyErr_SetString(PyExc_TypeError, "a body uses what is open around it");
    return nullptr;
  }

  // Nothing fails from here on.
  std::vector<NodeId> outside(count, kNoNode);
  std::vector<Node> kept;
  for (NodeId id = start; id < count; ++id) {
    Node& node = nodes_[id];
    if (stays(id)) {
      outside[id] = start + static_cast<NodeId>(kept.size());
      kept.push_back(std::move(node));
    } else if (used[id] && !node.parameter) {
      inside[id] = static_cast<NodeId>(body.nodes_.size());
      renumber(node, [&](NodeId edge) { return inside[edge]; });
      if (!node.element) ++body.call_count_, --call_count_;
      taken->impure |= node.impure;
      body.nodes_.push_back(std::move(node));
    } else if (!node.parameter && !node.element) {
      --call_count_;
    }
  }
  renumber(taken->output, [&](NodeId edge) { return inside[edge]; });
  std::erase_if(producers_,
                [&](const auto& entry) { return entry.second >= start && outside[entry.second] == kNoNode; });
  for (auto& [fake, id] : producers_)
    if (id >= start) id = outside[id];
  nodes_.resize(start);
  for (Node& node : kept) nodes_.push_back(std::move(node));
  for (Node& node : body.nodes_) node.used = true;
  return taken;
}

void Subgraph::set_operands(std::vector<Ref> wanted) {
  Graph arranged;
  std::vector<NodeId> places(graph.nodes_.size(), kNoNode);
  const auto place = [&](NodeId old, const std::string& name, const Ref& fake) {
    const NodeId now = arranged.add_placeholder(name, fake);
    if (old != kNoNode && places[old] == kNoNode) places[old] = now;
  };
  for (NodeId id = 0; id < parameters; ++id) place(id, name_of(graph.nodes_[id]), graph.nodes_[id].example);
  for (const Ref& fake : wanted) {
    const auto own = std::find_if(operands.begin(), operands.end(), [&](const Ref& one) { return one.is(fake.get()); });
    if (own == operands.end()) {
      place(kNoNode, "operand", fake);
    } else {
      const auto old = static_cast<NodeId>(parameters + (own - operands.begin()));
      place(old, name_of(graph.nodes_[old]), fake);
    }
  }
  for (NodeId id = static_cast<NodeId>(parameters + operands.size()); id < graph.nodes_.size(); ++id) {
    places[id] = static_cast<NodeId>(arranged.nodes_.size());
    Node& node = graph.nodes_[id];
    renumber(node, [&](NodeId edge) { return places[edge]; });
    arranged.nodes_.push_back(std::move(node));
  }
  renumber(output, [&](NodeId edge) { return places[edge]; });
  for (Node& node : arranged.nodes_) node.used = true;
  arranged.call_count_ = graph.call_count_;
  graph = std::move(arranged);
  operands = std::move(wanted);
}

Ref object_for(std::unique_ptr<Subgraph> subgraph) {
  Ref capsule = Ref::made(PyCapsule_New(subgraph.get(), kSubgraphCapsule, destroy));
  subgraph.release();
  return capsule;
}

Subgraph* subgraph_of(PyObject* object) noexcept {
  return stands_for_subgraph(object) ? static_cast<Subgraph*>(PyCapsule_GetPointer(object, kSubgraphCapsule)) : nullptr;
}

}  // namespace minidynamo
