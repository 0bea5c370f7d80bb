// A GradScaler leaves a step of its optimizer out where a gradient is infinite. A trace cannot know whether one is: it
// makes the step, and the graph takes back what it wrote (minidynamo/_runtime/grad_scaler.py). That holds for a step
// that does nothing but write to parameters and state. Any other, such as the first one, which makes the state, is read
// for.
#include "library/rules/handlers.h"

#include <algorithm>
#include <unordered_set>

#include "model/objects/function.h"
#include "model/objects/instance_dict.h"
#include "model/protocols/abstract.h"
#include "python/process/out_of_memory.h"
#include "python/version/dict_version.h"
#include "tensor/fake/tensor_facts.h"
#include "world/external/known_types.h"
#include "world/external/types.h"
#include "world/state/held_state.h"

namespace minidynamo::handlers {
namespace {

// The state that is watched while the step is made.
class Step {
 public:
  explicit Step(Tracer& tracer)
      : tracer_(tracer),
        effects_(tracer.effects.end()),
        nodes_(tracer.graph.nodes().size()),
        written_(tracer.storages),
        state_(tracer, {}) {}

  bool writes_only_to(PyObject* tensors) const {
    std::unordered_set<const void*> may, known;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(tensors); ++i) may.insert(storage_of_fake(PyList_GET_ITEM(tensors, i)));
    for (size_t i = 0; i < nodes_; ++i)
      if (PyObject* example = tracer_.graph.nodes()[i].example.get(); example && is_fake(example))
        known.insert(storage_of_fake(example));
    return std::ranges::none_of(tracer_.storages.written,
                                [&](const void* one) { return known.count(one) && !may.count(one); });
  }

  // True if it leaves Python's objects as they were. Schedulers note in the optimizer that it has been stepped, again
  // and again.
  bool changes_nothing() const {
    if (state_.change_but_for_effects().size()) return false;
    const auto& effects = tracer_.effects.effects();
    for (size_t i = effects_; i < effects.size(); ++i) {
      const auto* write = std::get_if<AttributeWrite>(&effects[i]);
      if (!write || !write->value || !is_constant(write->value.get())) return false;
      if (PyDict_Check(write->object.get()) || PyCell_Check(write->object.get())) return false;
      PyObject* there = instance_attribute(write->object.get(), write->name.get());
      if (!there || !write->value.is(there)) return false;
      if (!guard_own_attribute(tracer_, write->object.get(), write->name.get())) return false;
    }
    return true;
  }

 private:
  Tracer& tracer_;
  const size_t effects_, nodes_;
  const Storages::WrittenWithin written_;
  HeldState state_;
};

}  // namespace

// GradScaler._maybe_opt_step
Ref step_unless_infinite(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  // (scaler, optimizer, the scaler's state for it, ...)
  if (!tracer.may_assume() || arguments.values.size() != 3) return call_function(tracer, callable, arguments);
  const Ref& optimizer = arguments.values[1];
  const Ref is_left_out =
      call(tracer, "minidynamo._runtime.grad_scaler.found_infinite"_imported, {arguments.values[2]});
  const Ref tensors =
      is_left_out ? call(tracer, "minidynamo._runtime.grad_scaler.what_a_step_writes"_imported, {optimizer}) : Ref();
  const Ref before = tensors ? call(tracer, "minidynamo._runtime.grad_scaler.copies"_imported, {tensors}) : Ref();
  const Ref method = before ? load_attribute(tracer, optimizer.get(), "step"_name) : Ref();
  if (!method) return nullptr;
  flush_operator_reports();
  bool can_be_taken_back;
  {
    const Step step(tracer);
    const Ref result = call(tracer, method.get(), Arguments{});
    if (!result || !flush_operator_reports()) return nullptr;
    can_be_taken_back = result.is(Py_None) && step.writes_only_to(tensors.get()) && step.changes_nothing();
    if (PyErr_Occurred()) return nullptr;
  }
  // A graph with a step in it is not pure: the frame is traced again, without assumptions from here on.
  if (!can_be_taken_back) tracer.assume(Assumption::Kind::PureGraph);
  return call(tracer, "minidynamo._runtime.grad_scaler.take_back"_imported, {tensors, before, is_left_out});
}

}  // namespace minidynamo::handlers
