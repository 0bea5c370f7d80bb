// Calls a compiled forward graph as one node of autograd's graph, whose backward pass calls the compiled backward
// graph: what AOTAutograd does with an autograd.Function in Python, without Python.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "python/ref.h"

namespace minidynamo {

// A gradient that the backward graph takes.
struct Tangent {
  size_t position = 0;  // the position of the value that it is the gradient of
  Ref memory_format;    // a torch.memory_format that it needs, or None:
  std::vector<int64_t> size, stride;
};

// How the two graphs are called. Positions of values are those among what the forward graph returns.
struct DifferentiablePlan {
  // Boxed functions: take their arguments as one list, which they may empty. `backward_with_graph`(backward, arguments)
  // calls the backward graph where its results are to be differentiated.
  Ref forward, backward, backward_with_graph;
  size_t values = 0;                      // how many of what forward returns are results
  size_t saved = 0;                       // where what it has saved for backward begins
  size_t unchecked = 0;                   // how many of the last of these are saved without a check of their version
  size_t numbers = 0;                     // how many ints (sizes) follow, which backward takes before the tensors
  std::vector<size_t> detached, counted;  // inputs that get no gradient; inputs that the graph writes to
  std::vector<size_t> hidden, not_differentiable, unsafe_views;  // values
  std::vector<size_t> donated;  // saved tensors whose memory backward uses for its own results
  std::vector<Tangent> tangents;
  bool is_deterministic = false;  // compiled under torch.use_deterministic_algorithms
};

// A callable that takes the graph's inputs as one list, which it empties, and returns a tuple of the values.
Ref differentiable_callable(DifferentiablePlan plan);

}  // namespace minidynamo
