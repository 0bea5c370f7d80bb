// The reentrant kind is an autograd.Function (minidynamo/_runtime/checkpoint.py), traced as any other.
//
// The other kind differentiates what its function does as if there was no checkpoint; but what autograd saves on the
// way is thrown away. The first time in a backward pass that something of it is asked for, the function is traced
// again, until as much has been saved once more: torch stops there too, in the middle of an operator.
#include "library/training/recomputation.h"

#include "library/rules/handlers.h"

#include <unordered_map>

#include "model/protocols/abstract.h"
#include "model/tensors/transform_call.h"
#include "python/error_set_aside.h"
#include "python/error_text.h"
#include "python/objects/native_contents.h"
#include "python/objects/sequence.h"
#include "python/process/out_of_memory.h"
#include "tensor/autograd/transforms.h"
#include "tensor/fake/tensor_facts.h"
#include "world/external/known_types.h"

namespace minidynamo {
namespace {

constexpr const char* kRegionCapsule = "minidynamo.checkpoint";

PyObject* stop_exception() { return "minidynamo._runtime.checkpoint.Stop"_imported; }

std::nullptr_t refuse(Tracer& tracer, const std::string& why) {
  return tracer.abort(BreakReason::Checkpoint, "torch.utils.checkpoint.checkpoint: " + why);
}

// dtype, shape and device of a tensor.
Ref kind_of(PyObject* tensor) {
  const NativeScope native;
  std::vector<Ref> parts;
  for (const char* name : {"dtype", "shape", "device"}) {
    parts.push_back(native_attribute(tensor, name));
    if (!parts.back()) return nullptr;
  }
  return tuple_of(parts);
}

// The state that one call of a checkpoint has saved.
struct Region {
  Ref function, values, keywords, autocast;
  std::vector<std::pair<Ref, Ref>> versions;  // the tensors that it was given, and how often each was written to
  std::optional<size_t> random_position;
  std::vector<Ref> saved;                                 // the kind of each tensor
  std::unordered_map<long, std::vector<Ref>> again = {};  // by backward pass: those that were computed again
  long now = 0;                                           // the pass that it is computed again for
  bool is_forward_over = false;
};

Region& region_of(PyObject* capsule) { return *static_cast<Region*>(PyCapsule_GetPointer(capsule, kRegionCapsule)); }

void destroy(PyObject* capsule) noexcept { delete static_cast<Region*>(PyCapsule_GetPointer(capsule, kRegionCapsule)); }

// The hooks that autograd calls for what it saves, while one lives.
class SavedTensorHooks {
 public:
  SavedTensorHooks(PyObject* capsule, PyMethodDef& pack, PyMethodDef& unpack) {
    const NativeScope native;
    const Ref one = Ref::made(PyCFunction_New(&pack, capsule)), other = Ref::made(PyCFunction_New(&unpack, capsule));
    are_set_ = static_cast<bool>(Ref::steal(PyObject_CallFunctionObjArgs(
        "torch._C._autograd._push_saved_tensors_default_hooks"_imported, one.get(), other.get(), nullptr)));
  }
  ~SavedTensorHooks() {
    if (!are_set_) return;
    const ErrorSetAside error;
    {
      const NativeScope native;
      if (!Ref::steal(PyObject_CallNoArgs("torch._C._autograd._pop_saved_tensors_default_hooks"_imported)))
        clear_error();
    }
  }
  SavedTensorHooks(const SavedTensorHooks&) = delete;
  SavedTensorHooks& operator=(const SavedTensorHooks&) = delete;
  bool are_set() const noexcept { return are_set_; }

 private:
  bool are_set_ = false;
};

bool has_saved_tensor_hooks() {
  const NativeScope native;
  const Ref found = Ref::steal(
      PyObject_CallFunctionObjArgs("torch._C._autograd._top_saved_tensors_default_hooks"_imported, Py_True, nullptr));
  if (!found) clear_error();
  return !found.is(Py_None);
}

// The same memory without a history; no operator makes it.
Ref without_history(PyObject* tensor) {
  const NativeScope native;
  return native_attribute(tensor, "data");
}

PyObject* keep_again(PyObject* capsule, PyObject* tensor) {
  // The operator that saves this may be stopped before it has passed it on.
  if (!flush_operator_reports()) return nullptr;
  Region& region = region_of(capsule);
  std::vector<Ref>& again = region.again[region.now];
  Tracer& tracer = *Tracer::current();
  const Ref kind = kind_of(tensor);
  if (!kind) return nullptr;
  if (again.size() >= region.saved.size() ||
      PyObject_RichCompareBool(kind.get(), region.saved[again.size()].get(), Py_EQ) != 1)
    return refuse(tracer, "its function computes something else when it is called again");
  Ref kept = requires_gradient(tensor) ? without_history(tensor) : Ref::borrow(tensor);
  if (!kept) return nullptr;
  again.push_back(kept);
  if (again.size() < region.saved.size()) return kept.release();
  return stop_operator();
}

PyObject* give_kept(PyObject*, PyObject* kept) { return Ref::borrow(kept).release(); }

bool compute_again(Tracer& tracer, PyObject* capsule) {
  stop_exception();
  static constinit Imported again{"minidynamo._runtime.checkpoint.compute_again"};
  static PyMethodDef pack = {"keep_again", entry<keep_again>, METH_O, nullptr};
  static PyMethodDef unpack = {"give_kept", entry<give_kept>, METH_O, nullptr};
  Region& region = region_of(capsule);
  for (const auto& [tensor, version] : region.versions) {
    const Ref now = tensor_fact(tensor.get(), TensorFact::Version);
    if (!now || PyObject_RichCompareBool(now.get(), version.get(), Py_EQ) != 1)
      return clear_error(), refuse(tracer, "a tensor that it was given was written to") != nullptr;
  }
  const NativeScopeApart traced;
  const size_t position = tracer.random.position();
  if (region.random_position) tracer.random.go_to(*region.random_position);
  {
    const SavedTensorHooks hooks(capsule, pack, unpack);
    if (!hooks.are_set()) return clear_error(), refuse(tracer, "hooks of saved tensors are off") != nullptr;
    const Ref done = call(tracer, again, {region.function, region.values, region.keywords, region.autocast});
    if (tracer.is_over()) return false;
    if (!done && !PyErr_ExceptionMatches(stop_exception()))
      return refuse(tracer, "its function raises when it is called again: " + take_error_text()) != nullptr;
    clear_error();
  }
  if (!flush_operator_reports()) return false;
  if (region.random_position) tracer.random.go_to(position);
  return region.again[region.now].size() == region.saved.size() ||
         refuse(tracer, "its function computes less when it is called again") != nullptr;
}

PyObject* note_kind(PyObject* capsule, PyObject* tensor) {
  Region& region = region_of(capsule);
  region.saved.push_back(kind_of(tensor));
  return region.saved.back() ? PyLong_FromSize_t(region.saved.size() - 1) : nullptr;
}

PyObject* ask_again(PyObject* capsule, PyObject* index) {
  Tracer* tracer = Tracer::current();
  if (!tracer) {
    PyErr_SetString(PyExc_RuntimeError, "minidynamo: a checkpoint of a trace was used after it");
    return nullptr;
  }
  Region& region = region_of(capsule);
  Ref pass;
  {
    const NativeScope native;
    pass = Ref::steal(PyObject_CallNoArgs("torch._C._current_graph_task_id"_imported));
  }
  const long number = pass ? PyLong_AsLong(pass.get()) : -1;
  if (number < 0 || !region.is_forward_over)
    return clear_error(), refuse(*tracer, "what it has saved is asked for outside of a backward pass behind it");
  if (!region.again.count(number)) {
    region.now = number;
    region.again[number];
    if (!compute_again(*tracer, capsule)) return nullptr;
  }
  Ref& found = region.again[number][PyLong_AsSize_t(index)];
  if (!found) return refuse(*tracer, "something that it has saved is asked for twice");
  return std::exchange(found, Ref()).release();
}

Ref not_reentrant(Tracer& tracer, const CheckpointCall& given, Ref autocast) {
  static PyMethodDef pack = {"note_kind", entry<note_kind>, METH_O, nullptr};
  static PyMethodDef unpack = {"ask_again", entry<ask_again>, METH_O, nullptr};
  auto region = std::make_unique<Region>();
  region->function = Ref::borrow(given.function);
  region->values = given.arguments.positional();
  region->keywords = given.arguments.keyword_names ? given.arguments.keywords() : Ref::made(PyDict_New());
  region->autocast = std::move(autocast);
  for (const Ref& value : given.arguments.values)
    if (is_fake(value.get())) region->versions.emplace_back(value, tensor_fact(value.get(), TensorFact::Version));
  if (given.keeps_random_state) region->random_position = tracer.random.position();
  Region& own = *region;
  const Ref capsule = Ref::made(PyCapsule_New(region.get(), kRegionCapsule, destroy));
  region.release();
  const SavedTensorHooks hooks(capsule.get(), pack, unpack);
  if (!hooks.are_set()) return clear_error(), refuse(tracer, "hooks of saved tensors are off");
  Ref result = call(tracer, given.function, given.arguments);
  own.is_forward_over = true;
  return result;
}

}  // namespace

Ref checkpoint_below_autograd(Tracer& tracer, const CheckpointCall& given) {
  if (has_saved_tensor_hooks())
    return refuse(tracer, "it is called within another one, or hooks of saved tensors are active");
  const Ref autocast = call(tracer, "minidynamo._runtime.checkpoint.autocast_now"_imported, {});
  if (!autocast) return nullptr;
  if (autocast.is(Py_None)) return refuse(tracer, "autocast of another device than the CPU is on");
  if (!given.is_reentrant) {
    const Ref stops_early =
        load_attribute(tracer, "torch.utils.checkpoint"_imported, "_enable_checkpoint_early_stop"_name);
    if (!stops_early) return nullptr;
    if (stops_early.is(Py_False)) return refuse(tracer, "it must not stop early");
    return not_reentrant(tracer, given, autocast);
  }
  const Ref apply = load_attribute(tracer, "minidynamo._runtime.checkpoint.Reentrant"_imported, "apply"_name);
  if (!apply) return nullptr;
  std::vector<Ref> values = {Ref::borrow(given.function), Ref::boolean(given.keeps_random_state), autocast};
  values.insert(values.end(), given.arguments.values.begin(), given.arguments.values.end());
  return call(tracer, apply.get(), Arguments{values});
}

Ref handlers::is_checkpoint_valid(Tracer&, PyObject*, const Arguments&) {
  const NativeScope native;
  return Ref::steal(
      PyObject_CallNoArgs("torch.autograd.variable.Variable._execution_engine.is_checkpoint_valid"_imported));
}

// minidynamo._runtime.checkpoint.random_position() and go_to_random_position(position): a place in the stream of random
// numbers.
Ref handlers::random_position(Tracer& tracer, PyObject*, const Arguments&) {
  return Ref::made(PyLong_FromSize_t(tracer.random.position()));
}

Ref handlers::go_to_random_position(Tracer& tracer, PyObject*, const Arguments& arguments) {
  if (!flush_operator_reports()) return nullptr;
  tracer.random.go_to(PyLong_AsSize_t(arguments.values[0].get()));
  return Ref::none();
}

}  // namespace minidynamo
