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
#include "python/out_of_memory.h"
#include "python/ref.h"
#include "tensor/fake.h"
#include "tensor/history.h"
#include "world/break_reason.h"
#include "world/effect_log.h"
#include "world/frame.h"
#include "world/function_modes.h"
#include "world/made_classes.h"
#include "world/native_scope.h"
#include "world/random_stream.h"
#include "world/symbols.h"
#include "world/torch_modes.h"
#include "world/transforms.h"
#include "world/unknown_numbers.h"
#include "world/world.h"

namespace minidynamo {

// Where a trace is to end: before an instruction, counted over the whole trace. A trace changes nothing, so a second
// one comes to the same instruction with the same count.
struct BreakPoint {
  long executed = -1;
  PyCodeObject* code = nullptr;
  int32_t instruction = -1;
};

// Why and where a trace was given up.
struct Break {
  BreakReason reason;
  std::string detail;
  Ref code_object;
  int32_t line = 0;
  int32_t column = -1, end_column = -1;  // in bytes; the end is -1 on another line
  std::string user_stack;                // as in a traceback, outermost frame first
  // The instructions before which the trace may end instead, the best one first: the innermost traced instruction that
  // runs alone, then the calls that led to it.
  std::vector<BreakPoint> stops;
  bool is_innermost = true;  // the first of them is the instruction that the trace was at
};

struct TraceLimits {
  long instructions = 20'000'000;
  size_t nodes = 200'000;
  int depth = 400;
  bool may_end_in_libraries = false;        // testing: the standard library and torch are cut like user code
  long classes_until = LONG_MAX;            // from this instruction on, as `executed`, a class statement is a break
  long assumptions_until = LONG_MAX;        // from this one on, nothing is assumed
  bool below_autograd = false;              // every operator is recorded, those of backward passes too
  std::string why_not_below_autograd = {};  // it has been tried
  bool may_fill_caches = true;              // see Tracer::to_fill
  std::chrono::milliseconds patience{500};  // what interrupts the program waits so long for the end of the trace
  std::vector<std::string> changing_numbers = {};  // see changing_number.h
};

// What the trace has taken for granted at an instruction, as `executed`, and only its end can tell. Where it turns out
// wrong, the frame is traced again without it.
struct Assumption {
  enum class Kind : uint8_t {
    PureGraph,      // the graph changes nothing: where it raises, the frame can run as it was
    StaysInside,    // `object`, a fake, does not leave the trace
    Unwritten,      // the graph writes to nothing that shares its memory with `object`, a fake
    Private,        // nor does anything that shares its memory leave the trace
    GraphComputes,  // the graph calls something, or nothing at all was recorded
    IsNoOrigin,     // `object`, a leaf, can be left out of the histories of what leaves the trace
  };
  Kind kind;
  long executed;
  Ref object = nullptr;
};

// A number that residual code draws and gives to the graph (drawn_number.h).
struct DrawnNumber {
  Ref fake, method, arguments;
  Source* source;  // Access::Draw
};

class Tracer final : public OperatorObserver {
 public:
  // `open`: numbers that may differ at the next call; null: none.
  Tracer(const TraceLimits& limits, GuardTree& guards, const OpenNumbers* open = nullptr);
  ~Tracer() override;
  Tracer(const Tracer&) = delete;

  static Tracer* current() noexcept;   // the one tracing on this thread, or null
  static bool any_running() noexcept;  // on any thread

  Graph graph;
  GuardTree& guards;  // of the cache entry to be
  World world;
  Symbols symbols;
  EffectLog effects;
  TorchModes modes;
  FunctionModes function_modes;
  Transforms transforms;
  MadeClasses classes;
  UnknownNumbers unknown_numbers{*this};
  Frame* frame = nullptr;  // innermost traced frame
  TraceLimits limits;
  long executed = 0;                       // instructions
  long next_look;                          // from this one on, what may go on for ever calls keeps_going()
  std::unordered_set<Ref> made_functions;  // by MAKE_FUNCTION in this trace: not outside, though C code may call them
  std::unordered_set<Ref> own_namespaces;  // dicts of the trace's own that are the globals of code which it runs
  int depth = 0;
  long force_break_at = 0;                   // a break is to come at this instruction, counted as `executed`; 0: none
  bool may_break = true;                     // false: all of the frame or nothing
  std::unordered_set<PyObject*> generators;  // that the trace has made and that are alive
  // Objects from before that die where the trace breaks, after all effects: by then nothing else may hold them.
  std::vector<Source*> let_go;
  // By parameter of a resume function: whether it is unbound when that returns. The others live until then.
  std::vector<bool> lost_at_return;
  bool object_is_let_go = false;  // the break is to come because the program deleted what it will see the end of
  // Whether nothing has begun yet that could be is_over; then the next instruction is asked.
  bool delay_forced_break(const Frame& at) noexcept;
  BreakPoint stop;                       // end the trace there
  std::function<void(Frame&)> on_break;  // called at `stop`, while all frames are alive
  // The instruction that raised the exception that is propagating now, as `executed` and as places to end instead.
  long raised_at = -1;
  Break raised;
  void note_raise(Frame& frame);
  std::unordered_set<Ref> identities;  // what id() returned: the very objects, which may not leave the trace
  // Instances that the trace made and whose __dict__ the program uses as such, by that dict.
  std::unordered_map<PyObject*, Ref> own_dicts;
  PyObject* owner_of_dict(PyObject* dict) const noexcept {
    auto found = own_dicts.find(dict);
    return found == own_dicts.end() ? nullptr : found->second.get();
  }
  std::vector<Ref> kept_for_identity;  // what id() was asked about, so that no address comes twice
  // While an opaque call is executed: fakes for tensors that it made or found itself, by tensor. It will do so again
  // when the graph runs.
  std::unordered_map<Ref, Ref>* tensors_of_opaque_call = nullptr;
  // Calls of cached functions that give objects which their caches will keep, and that do nothing else: they are made
  // for real before the frame is traced again, and then found there.
  std::vector<DeferredCall> to_fill;
  // A backward pass is to run whose operators can be recorded below autograd only.
  bool needs_below_autograd = false;
  int backward_passes = 0;
  // Leaves from before the call that a backward pass is giving gradients: their fakes have them, not the effect log.
  std::unordered_set<PyObject*> receiving;
  // Hooks that the trace has put on leaves from before the call, in their order; effects do it when the graph has run.
  RandomStream random;
  struct HookToCome {
    Ref leaf, hook;
    bool is_after;  // the gradient was accumulated
  };
  std::vector<HookToCome> hooks_to_come;
  UsedUpHistories used_up;
  std::vector<DrawnNumber> drawn;
  std::vector<Assumption> assumptions;
  bool may_assume() const noexcept { return executed < limits.assumptions_until; }
  void assume(Assumption::Kind kind, PyObject* object = nullptr) {
    assumptions.push_back({kind, executed, Ref::borrow(object)});
  }
  std::unordered_set<const void*> written_storages;  // of fakes: what operators wrote to so far
  std::vector<const void*> wrapped_storages;         // of the tensors in wrappers from before (wrapper_tensors.h)
  double propagate_seconds = 0;                      // spent in executing recorded calls on fakes
  const MemoryWatch memory;                          // of the whole trace

  // False: the trace is given up, since it has become too long, or something has waited too long for its end.
  bool keeps_going() noexcept;

  // Gives the trace up. Returns null, for `return tracer.abort(...)`.
  std::nullptr_t abort(BreakReason reason, std::string detail);
  // The trace is over: given up, or ended at `stop`.
  // The exception that the current Python error is leaves the root frame.
  void abort_with_exception(std::string text);
  bool is_over() const noexcept { return stopped_ || aborted_.has_value(); }
  bool aborted() const noexcept { return aborted_.has_value(); }
  const Break& why() const noexcept { return *aborted_; }
  // The current Python error is a MemoryError that the program raises.
  void note_own_memory_error() noexcept;
  // Memory was refused, somewhere in the trace: what was seen since is no sign of what the program does. Allocates
  // nothing.
  void run_out_of_memory() noexcept;
  // At `stop`: plans the exit, then unwinds like abort().
  void end_at_break(Frame& innermost);
  GuardOrigin origin() const noexcept;

  // Whether an impure operator ran since the flag was last taken.
  bool consume_side_effect_flag() noexcept { return std::exchange(has_side_effect_, false); }

  // OperatorObserver
  bool operator_ran(PyObject* target, PyObject* args, PyObject* kwargs, PyObject* result) noexcept override;
  bool recording_call() const noexcept override { return is_native() && !is_one_by_one(); }
  bool runs_below_autograd() const noexcept override { return limits.below_autograd; }
  void operator_ran_in_grad_mode(bool on) noexcept override { operators_grad_mode_ = on; }
  void operator_has_side_effect() noexcept override { has_side_effect_ = true; }
  void operator_writes(const void* storage) noexcept override { written_storages.insert(storage); }
  PyObject* fake_for_real(PyObject* real) noexcept override;
  void cannot_fake(const std::string& operator_name, FakeProblem problem, const std::string& reason) noexcept override;
  std::optional<Expression> unknown_size(SizeRange range, PyObject* elements_of, uint32_t version) noexcept override;

 private:
  friend class TracerActivation;
  std::optional<Break> aborted_;
  Ref own_memory_error_;
  bool stopped_ = false;
  bool has_left_prologue_ = false;
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

}  // namespace minidynamo
