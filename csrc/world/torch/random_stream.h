// The random numbers that a graph draws from torch's generator, in their order, and where in it the program stands.
//
// A trace draws nothing, so what it knows of the generator's state is how many operators have drawn. A program that
// goes back to an earlier state (a checkpoint does, to compute again) draws the same numbers again: in the graph they
// are copies of those that were drawn first, which were kept for it.
#pragma once
#include <vector>

#include "graph/graph.h"
#include "python/ref.h"

namespace minidynamo {

class Tracer;

class RandomStream {
 public:
  // The program's place in the stream. Draws from here on are kept.
  size_t position() noexcept {
    is_kept_ = true;
    return position_;
  }
  void go_to(size_t position) noexcept { position_ = position; }
  // True if the generator's state is what the graph leaves it in.
  bool is_at_end() const noexcept { return position_ == draws_.size(); }

  // An operator was recorded: if it draws, it is the next in the stream.
  void note(Tracer& tracer, PyObject* target, PyObject* args, PyObject* kwargs, PyObject* result);
  // True if an operator draws what has been drawn before, and recording it as that. kNoNode: the trace is given up.
  bool repeats(PyObject* target, PyObject* args, PyObject* kwargs) const {
    return !is_at_end() && draws(target, args, kwargs);
  }
  NodeId repeat(Tracer& tracer, PyObject* target, PyObject* args, PyObject* result);

 private:
  struct Draw {
    Ref target, args, kept;  // kept: a copy of the result as it was drawn, null if there is none
  };
  std::vector<Draw> draws_;
  size_t position_ = 0;
  bool is_kept_ = false;

  static bool draws(PyObject* target, PyObject* args, PyObject* kwargs);
};

}  // namespace minidynamo
