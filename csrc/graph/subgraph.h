// A graph that a call of another graph runs: the body of a checkpoint, a branch of torch.cond.
//
// While a body is traced, its calls are recorded behind those of the graph around it, as if they were part of it; when
// it has ended they are taken out (Graph::take_from). So nothing but the end of a body has to know that it is one, and
// a body that does not come to its end has been inlined.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace minidynamo {

struct Subgraph {
  std::string name;  // name of the attribute that holds it: "cond_true" for cond_true_0, cond_true_1, ...
  Graph graph;       // its placeholders: parameters, then one for each operand
  Argument output;
  size_t parameters = 0;
  std::vector<Ref> operands;  // fakes of the graph around it that it uses, in the order of its placeholders
  bool impure = false;        // one of its calls is
  Ref meta;                   // dict of what the exported module's `meta` is to hold too, or null

  // Sets its operands, in this order: those that it uses, and any others.
  void set_operands(std::vector<Ref> wanted);
};

// A Python object that stands for a subgraph among the arguments of a recorded call, and owns it.
Ref object_for(std::unique_ptr<Subgraph> subgraph);
Subgraph* subgraph_of(PyObject* object) noexcept;  // null: it stands for none

}  // namespace minidynamo
