#include "model/native/body.h"

#include <algorithm>

#include "model/tensors/tensor_call.h"
#include "python/error_text.h"
#include "python/objects/sequence.h"
#include "python/process/out_of_memory.h"
#include "tensor/autograd/transforms.h"
#include "tensor/fake/tensor_facts.h"
#include "world/external/known_types.h"

namespace minidynamo {

Body::Body(Tracer& tracer, std::string what)
    : tracer_(tracer),
      what_(std::move(what)),
      start_((flush_operator_reports(), static_cast<NodeId>(tracer.graph.nodes().size()))),
      written_(tracer.storages) {
  ++tracer.symbols.bodies;
}

Body::Body(Tracer& tracer, std::string what, const std::vector<PyObject*>& reaches) : Body(tracer, std::move(what)) {
  state_.emplace(tracer, reaches);
}

Body::~Body() { --tracer_.symbols.bodies; }

void Body::add_parameter(const std::string& name, const Ref& fake) { tracer_.graph.add_parameter(name, fake); }

bool Body::only_computes() {
  const std::string change = state_->change();
  return change.empty() || tracer_.abort(BreakReason::BodyEffect, what_ + ": " + change);
}

std::vector<Ref> Body::made_in(PyObject* result) const {
  std::vector<Ref> found;
  for (PyObject* fake : fakes_held_by(tracer_, result))
    if (made(fake)) found.push_back(Ref::borrow(fake));
  return found;
}

bool Body::made(PyObject* fake) const noexcept {
  const NodeId node = tracer_.graph.producer(fake);
  return node != kNoNode && node >= start_ && tracer_.graph.nodes()[node].kind != NodeKind::Placeholder;
}

std::unique_ptr<Subgraph> Body::take(PyObject* output, const char* name) {
  if (!flush_operator_reports() || tracer_.is_over()) return nullptr;
  std::unique_ptr<Subgraph> taken = tracer_.graph.take_from(start_, output);
  tracer_.symbols.forget_nodes_from(start_);
  if (taken) {
    taken->name = name;
  } else {
    const std::string why = take_error_text();
    tracer_.abort(BreakReason::GraphArgument, what_ + ": " + why);
  }
  return taken;
}

std::vector<long> Body::written_operands(const Subgraph& taken) const {
  std::vector<long> written;
  for (size_t i = 0; i < taken.operands.size(); ++i)
    if (tracer_.storages.is_written(taken.operands[i].get())) written.push_back(static_cast<long>(i));
  return written;
}

bool Body::leaves_operands(const Subgraph& taken) {
  return written_operands(taken).empty() ||
         tracer_.abort(BreakReason::BodyEffect, what_ + ": it writes to a tensor from outside of it");
}

bool is_of_kind(PyObject* one, PyObject* other) {
  for (const char* name : {"dtype", "shape", "device"}) {
    const Ref left = Ref::steal(PyObject_GetAttrString(one, name)),
              right = Ref::steal(PyObject_GetAttrString(other, name));
    if (!left || !right || PyObject_RichCompareBool(left.get(), right.get(), Py_EQ) != 1) return clear_error(), false;
  }
  return true;
}

Ref with_history(PyObject* results, const std::vector<long>& constant, const std::vector<Ref>& inputs) {
  if (!grad_mode_enabled() ||
      std::ranges::none_of(inputs, [](const Ref& input) { return requires_gradient(input.get()); }))
    return Ref::borrow(results);
  const NativeScope native;
  const Ref dirty = Ref::made(PyTuple_New(0)), positions = list_of_numbers(constant), all = tuple_of(inputs);
  return Ref::steal(PyObject_CallFunctionObjArgs("minidynamo._runtime.autograd_function.with_history"_imported, results,
                                                 dirty.get(), positions.get(), all.get(), nullptr));
}

bool record_body_call(Tracer& tracer, PyObject* target, const std::vector<Ref>& values, PyObject* keyword_names,
                      PyObject* result, bool impure) {
  return record_node(tracer, NodeKind::CallFunction, target, Arguments{values, keyword_names}, result, impure);
}

}  // namespace minidynamo
