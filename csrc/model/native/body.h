// A piece of the program that becomes a graph of its own within the graph: what torch.utils.checkpoint is given, a
// branch of torch.cond, the backward of an autograd.Function.
//
//   Body body(tracer, "torch.cond", {function, operands});
//   Ref result = call(tracer, function, operands);
//   if (!result || !body.only_computes(Body::Writes::Refused)) return nullptr;
//   std::unique_ptr<Subgraph> branch = body.take(output, "cond_true");
//
// Without take() the body has been inlined: its calls stay where they are.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "graph/subgraph.h"
#include "world/state/held_state.h"
#include "world/state/tracer.h"

namespace minidynamo {

class Body {
 public:
  // `reaches`: what the body is given, from where it may reach objects of the trace.
  Body(Tracer& tracer, std::string what, const std::vector<PyObject*>& reaches);
  // For a body that runs once, in place: it may change what it likes.
  Body(Tracer& tracer, std::string what);
  ~Body();
  Body(const Body&) = delete;
  Body& operator=(const Body&) = delete;

  // A fake that the runner of the body passes to it.
  void add_parameter(const std::string& name, const Ref& fake);

  // False: it did something besides, and the trace is given up.
  bool only_computes();
  // The tensors that an object holds and that the body made.
  std::vector<Ref> made_in(PyObject* result) const;
  bool made(PyObject* fake) const noexcept;
  // Null: it cannot be a graph, and the trace is given up.
  std::unique_ptr<Subgraph> take(PyObject* output, const char* name);
  // The positions of the operands that it writes to.
  std::vector<long> written_operands(const Subgraph& taken) const;
  // False: there are some, and the trace is given up.
  bool leaves_operands(const Subgraph& taken);

 private:
  Tracer& tracer_;
  const std::string what_;
  const NodeId start_;
  const Storages::WrittenWithin written_;
  std::optional<HeldState> state_;
};

// True if two fakes have one dtype, shape and device.
bool is_of_kind(PyObject* one, PyObject* other);
// The results of an operator on tensors (a tuple of fakes), with a history if the operator is differentiated and one of
// `inputs` has one. `constant`: positions of results that have none. Null with a Python error if torch refuses.
Ref with_history(PyObject* results, const std::vector<long>& constant, const std::vector<Ref>& inputs);

// Records the call of an operator that runs bodies. `values` may hold results of object_for().
bool record_body_call(Tracer& tracer, PyObject* target, const std::vector<Ref>& values, PyObject* keyword_names,
                      PyObject* result, bool impure);

}  // namespace minidynamo
