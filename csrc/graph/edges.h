// Visits the nodes that an argument of a call refers to, and a graph that the call runs. For graph.cpp and the code
// built on graph.h.
#pragma once
#include <Python.h>

namespace minidynamo {

// The edges of an Argument (graph.h), at any depth.
template <typename Argument, typename Visit>
void for_each_edge(const Argument& argument, const Visit& visit) {
  if (argument.kind == Argument::Kind::Node) visit(argument.node);
  for (const Argument& item : argument.items) for_each_edge(item, visit);
}

// The edges of all arguments of a Node.
template <typename Node, typename Visit>
void for_each_edge_of(const Node& node, const Visit& visit) {
  for (const auto& argument : node.args) for_each_edge(argument, visit);
  for (const auto& [name, argument] : node.kwargs) for_each_edge(argument, visit);
}

// The name of the capsules that stand for a Subgraph (subgraph.h) among Python objects.
inline constexpr const char* kSubgraphCapsule = "minidynamo.subgraph";
inline bool stands_for_subgraph(PyObject* object) noexcept { return PyCapsule_IsValid(object, kSubgraphCapsule); }

}  // namespace minidynamo
