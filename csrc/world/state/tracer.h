// The state of one trace: the graph, the guards, the known external objects, and whether the trace had to be given up.
//
// Everything that evaluates takes a Tracer&. Failure has two forms, both as a null Ref: a Python error is set (the
// traced program raised; its handlers may catch it), or `is_over()` (the trace is given up; nothing may catch that). A
// Python error is set in the second case too, so that C code between evaluator frames unwinds.
#pragma once
#include <chrono>
#include <climits>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "graph/graph.h"
#include "guard/source.h"
#include "python/native_scope.h"
#include "python/process/out_of_memory.h"
#include "python/ref.h"
#include "tensor/autograd/history.h"
#include "tensor/fake/fake.h"
#include "world/proxies/symbols.h"
#include "world/proxies/unbacked_numbers.h"
#include "world/state/break_reason.h"
#include "world/state/effect_log.h"
#include "world/state/frame.h"
#include "world/state/made_classes.h"
#include "world/state/trace_parts.h"
#include "world/state/views_from_before.h"
#include "world/state/world.h"
#include "world/torch/function_modes.h"
#include "world/torch/random_stream.h"
#include "world/torch/torch_modes.h"
#include "world/torch/transforms.h"

namespace minidynamo {

class Tracer;

struct TraceLimits {
  long instructions = 20'000'000;
  size_t nodes = 200'000;
  int depth = 400;
  bool may_end_in_libraries = false;        // testing: the standard library and torch are cut like user code
  long classes_until = LONG_MAX;            // from this instruction on, as `executed`, a class statement is a break
  long assumptions_until = LONG_MAX;        // from this one on, nothing is assumed
  bool below_autograd = false;              // every operator is recorded, those of backward passes too
  std::string why_not_below_autograd = {};  // it has been tried
  // The backend has refused a graph of a form that other front ends do not make: operators of fused optimizers stay
  // out.
  bool only_common_forms = false;
  // The backend would make many operators of a recurrent layer, where the trace may end before it.
  bool keeps_recurrent_layers_out = false;
  bool may_fill_caches = true;                   // see Tracer::lru_caches_to_warm
  std::chrono::milliseconds patience{500};       // an interruption waits so long for the end of the trace
  std::vector<std::string> dynamic_floats = {};  // see world/proxies/dynamic_float.h
  std::function<void(const Tracer&)> look = {};  // called now and then, between two instructions
};

class Tracer final : public OperatorObserver {
 public:
  // `open`: numbers that may differ at the next call; null: none.
  Tracer(const TraceLimits& limits, GuardTree& guards, const DynamicSizes* open = nullptr);
  ~Tracer() override;
  Tracer(const Tracer&) = delete;

  static Tracer* current() noexcept { return current_; }  // the one tracing on this thread, or null
  static bool any_running() noexcept;                     // on any thread

  Graph graph;
  GuardTree& guards;  // the new cache entry's
  const TraceLimits limits;
  Frame* frame = nullptr;  // innermost traced frame
  int depth = 0;
  long executed = 0;             // instructions
  long next_look;                // from this one on, what may go on for ever calls keeps_going()
  const MemoryWatch memory;      // the whole trace's
  double propagate_seconds = 0;  // spent in executing recorded calls on fakes

  // The world before the call, and the trace's changes to it.
  World world;
  EffectLog effects;
  MadeObjects made;
  MadeClasses classes;
  Identities identities;
  ObjectEnds ends;

  // Numbers that are no constants.
  Symbols symbols;
  UnbackedNumbers unbacked_numbers{*this};
  RandomStream random;
  std::vector<DrawnNumber> drawn;

  // The modes that operators run in.
  TorchModes modes;
  FunctionModes function_modes;
  Transforms transforms;
  BackwardState backward;
  Storages storages;
  ViewsFromBefore views_from_before;
  // While an opaque call is executed: fakes for tensors that it made or found itself, by tensor. It will do so again
  // when the graph runs.
  std::unordered_map<Ref, Ref>* tensors_of_opaque_call = nullptr;

  // The facts that its end has to know.
  Breaks breaks;
  std::vector<Assumption> assumptions;
  bool may_assume() const noexcept { return executed < limits.assumptions_until; }
  void assume(Assumption::Kind kind, PyObject* object = nullptr) {
    assumptions.push_back({kind, executed, Ref::borrow(object)});
  }
  // Calls of cached functions that return objects which their caches will keep, and that do nothing else: they are made
  // for real before the frame is traced again, and then found there.
  std::vector<DeferredCall> lru_caches_to_warm;

  // False: the trace is given up, since it has become too long, or something has waited too long for its end.
  bool keeps_going() noexcept;

  // Ends the trace. Returns null, for `return tracer.abort(...)`.
  std::nullptr_t abort(BreakReason reason, std::string detail);
  // The current Python error is an exception that is raised in `at`, or one that leaves the root frame.
  void note_raise(Frame& at);
  void abort_with_exception(std::string text);
  // The trace is over: aborted, or ended at `breaks.point`.
  bool is_over() const noexcept { return stopped_ || aborted_.has_value(); }
  bool aborted() const noexcept { return aborted_.has_value(); }
  const Break& why() const noexcept { return *aborted_; }
  // The current Python error is a MemoryError that the program raises.
  void note_own_memory_error() noexcept;
  // Memory was refused, somewhere in the trace: what was seen since is no sign of what the program does. Allocates
  // nothing.
  void run_out_of_memory() noexcept;
  // At `breaks.point`: plans the exit, then unwinds like abort().
  void end_at_break(Frame& innermost);
  GuardOrigin origin() const noexcept;

  // True if an impure operator ran since the flag was last taken.
  bool consume_side_effect_flag() noexcept { return std::exchange(has_side_effect_, false); }

  // OperatorObserver
  bool operator_ran(PyObject* target, PyObject* args, PyObject* kwargs, PyObject* result) noexcept override;
  bool recording_call() const noexcept override { return is_native() && !is_recording_operators(); }
  bool runs_below_autograd() const noexcept override { return limits.below_autograd; }
  void operator_ran_in_grad_mode(bool on) noexcept override { operators_grad_mode_ = on; }
  void operator_has_side_effect() noexcept override { has_side_effect_ = true; }
  bool operator_writes(const void* storage, bool is_differentiated) noexcept override;
  void operator_may_fail() noexcept override { storages.last_may_fail = graph.nodes().size(); }
  void operator_communicates() noexcept override { storages.is_shared_with_processes = true; }
  PyObject* fake_for_real(PyObject* real) noexcept override;
  void cannot_fake(const std::string& operator_name, FakeProblem problem, const std::string& reason) noexcept override;
  std::optional<Expression> unknown_size(SizeRange range, PyObject* elements_of, uint32_t version) noexcept override;

 private:
  friend class TracerActivation;
  std::optional<Break> aborted_;
  static inline constinit thread_local Tracer* current_ = nullptr;
  Ref own_memory_error_;
  bool stopped_ = false;
  bool has_side_effect_ = false;
  bool operators_grad_mode_ = true;
  std::chrono::steady_clock::time_point waited_for_since_{};  // zero: not yet
};

// Makes a tracer the thread's current one.
class TracerActivation {
 public:
  explicit TracerActivation(Tracer& tracer) noexcept;
  ~TracerActivation();
  TracerActivation(const TracerActivation&) = delete;

 private:
  Tracer* previous_;
  NativeScopeApart native_;
};

// The prepared form of a code object; null: it cannot be decoded, and the trace is given up.
const CodeInfo* prepare(Tracer& tracer, PyCodeObject* code);

}  // namespace minidynamo
