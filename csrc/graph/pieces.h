// A graph as pieces that run one after the other: instances of regions (regions.h), and what lies between them. Equal
// pieces need one compiled function.
//
// Each piece does to real tensors what its calls do, so that pieces in turn are the graph, wherever it is cut, but for
// what a compiler assumes of a piece alone. So
//   - a piece that writes to memory has no two inputs that show it (the graph's own inputs share none that is written
//     to), and where histories are recorded it writes to what it has made, or to the graph's inputs, alone;
//   - what goes over a cut is a tensor (not the tuple that an operator returns, nor a number);
//   - a symbolic size that is computed of the graph's inputs is computed again in each piece that needs it;
//   - at a cut each mode of torch is as it is where the graph begins.
// A view of what a piece could be given itself is made again in the piece.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "python/ref.h"

namespace minidynamo {

struct Piece {
  std::vector<NodeId> calls;
  size_t module = 0;  // equal for equal pieces
  std::vector<NodeId> inputs, outputs;
};

struct Division {
  std::vector<Piece> pieces;  // none: the graph is not divided
  size_t modules = 0;         // distinct pieces
  std::string report;         // for people: what was found, or why there are no pieces
};

struct DivisionRequest {
  const std::vector<NodeId>& outputs;
  // Storages (tensor/fake/tensor_facts.h), and the nodes that write to them, in order.
  const std::vector<std::pair<const void*, size_t>>& writes;
  bool gradients_are_on = false;   // where the graph begins
  bool records_histories = false;  // it runs with autograd
};

// After remove_dead_code().
Division divide(const Graph& graph, const DivisionRequest& request);

// A piece as a graph of its own, which returns a tuple of its outputs. Null with a Python error set on failure.
Ref to_graph_module(const Graph& graph, const Piece& piece, const std::string& name);

// The division as Python objects: a tuple of
//   - the distinct pieces, as modules (to_graph_module); inputs of the graph are placeholders with its sources;
//   - the steps: (module, slots of its inputs, slots of its outputs). The first slots are the graph's inputs;
//   - the slots of the graph's results.
// Null with a Python error set on failure.
Ref to_program(const Graph& graph, const Division& division, const std::vector<NodeId>& outputs,
               const std::string& name);

}  // namespace minidynamo
