// From the objects that are alive at the end of a trace to the steps that make them again.
//
// Shared identity is kept: an object is made once. Containers and instances that are part of a cycle are made empty and
// filled when everything else is there.
#pragma once
#include <functional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "emit/plan.h"
#include "emit/resume.h"
#include "world/state/tracer.h"

namespace minidynamo {

class ValuePlanner {
 public:
  ValuePlanner(Tracer& tracer, Plan& plan, std::vector<NodeId>& outputs)
      : tracer_(tracer), plan_(plan), outputs_(outputs) {}

  // The value of an in-trace object; kNoValue if it cannot be made (then either refusal() says why, or found_cycle()).
  ValueId value_of(PyObject* object);
  ValueId live(Source* source);  // an external object as it is
  ValueId constant(PyObject* object);
  // Marks the object as one that will be needed.
  void expect(PyObject* object) { expected_.insert(object); }
  // Code that makes a weak reference runs behind the plan: tensors are kept alive by their locals too. Otherwise they
  // go as soon as they can, with their memory.
  void expect_weak_references() { keeps_tensors_ = true; }
  // A local or stack slot of a frame, which may hold an external object that nothing has used.
  ValueId slot_value(Frame& frame, size_t slot);
  // From now on the object is made by calling callable(argument).
  void define(PyObject* object, PyObject* callable, PyObject* argument);
  // Which locals of a frame's original code a resume function of the place must be given: those that may be read, and
  // those that keep alive what was there before the trace, or what else the program may see the end of.
  bool holds_identity(PyObject* object) const;
  bool is_planned(PyObject* object) const;     // made already, or what a cell holds is
  bool keeps_planned(PyObject* object) const;  // the same of itself, or of an object that it keeps alive
  // By local, and where locals are saved on the stack, by slot of it: whether it has a value to pass.
  std::vector<bool> passed_locals(const Frame& frame, const OriginalPosition& at, ResumePlace place);
  // True if the plan makes what a local holds that a resume function is not given: the local keeps it alive, and what
  // else is made may lead to it by a weak reference alone. It is expected then, and planning has to start again.
  bool found_left_out();

  // A function or descriptor bound to its first argument.
  ValueId bound_method(PyObject* function, PyObject* self);
  ValueId call(PyObject* callable, const std::vector<PyObject*>& arguments);
  // A step run for its effect: callable(*arguments).
  bool effect(PyObject* callable, const std::vector<PyObject*>& arguments);
  bool effect(const char* callable_path, std::initializer_list<PyObject*> arguments);
  // True if a key's hash and comparison are CPython's own, so that residual code may ask for them.
  static bool hashes_natively(PyObject* key);
  // True if a set's elements will be the very same objects at each run, so that residual code may copy it.
  bool is_template(PyObject* set) const;
  // Draws random numbers that no graph takes, since nothing is computed with them, before all else.
  void draw_numbers();
  // Draws the unused ones. To be called when all else is planned.
  void finish_draws();
  // Fills the objects that were made empty. To be called when no value is being made.
  bool fill_cycles();
  // Fills one of these at once, for an iterator that is to stand somewhere in it.
  bool fill_now(PyObject* object);
  // Sets iterators to where they stand, when what they walk over is as it has to be: after all effects.
  bool set_states();

  const std::string& refusal() const noexcept { return refusal_; }
  ValueId refuse(std::string what);
  // A cycle was met: start again with a new plan; this planner remembers which objects belong to it.
  bool found_cycle() const noexcept { return found_cycle_; }
  void start_again();

  // An object from before the call is written to: at a later call it must not be another one that the trace knows as a
  // different object.
  void is_written_to(PyObject* object);
  // Decides which slots the guard check gathers, and which objects must be different; ends planning. False: no guard
  // can make the graph right for its inputs.
  bool gather(std::vector<Source*>& inputs);

  // How far the effect log is planned, and whether one of its entries is being planned now. What comes late
  // (world/proxies/runtime_value.h) is the result of an entry, which has to be planned by then: plan_log_until, set by
  // whoever plans effects, does so.
  size_t log_planned = 0;
  bool is_planning_log = false;
  std::function<bool(size_t)> plan_log_until;
  // The result of the entry at a place.
  bool runtime_value(size_t place, const DeferredCall& call);

  // Writes an external container that the trace changed before an iterator over it is made; set by whoever plans
  // effects.
  std::function<bool(const ShadowContainer&)> write_now;
  // To be asked before the changes of a container are planned; false: they were, or are being planned.
  bool begin_writing(const ShadowContainer& shadow) { return written_.insert(&shadow).second; }
  std::unordered_set<const ShadowContainer*> being_written;
  // True if an iterator from before the call has not been moved on yet; it is from now on.
  bool is_first_move(PyObject* iterator) { return moved_.insert(iterator).second; }

  // True if what weak references with callbacks refer to is held by something else as well; it would die in the middle
  // of residual code otherwise, as it would have before, had the trace not kept it alive. For breaks, at the end.
  bool watched_are_held();
  // True if each generator whose end would run code leaves the trace: what only the trace holds would never end.
  bool generators_are_held();

  void keep_alive(Ref object) { keep_alive_.push_back(std::move(object)); }

 private:
  Tracer& tracer_;
  Plan& plan_;
  std::vector<NodeId>& outputs_;
  std::unordered_map<PyObject*, ValueId> values_;
  std::unordered_map<PyObject*, ValueId> drawn_;  // by fake
  std::unordered_map<size_t, ValueId> late_;      // by place in the effect log
  std::unordered_map<Source*, ValueId> live_values_;
  std::unordered_map<NodeId, uint32_t> output_index_;
  std::vector<std::pair<ValueId, Source*>> live_;  // their slots are given after the graph's inputs have theirs
  std::vector<Ref> keep_alive_;
  std::vector<PyObject*> building_;
  std::unordered_set<PyObject*> cyclic_;
  int restarts_ = 0;
  std::unordered_set<PyObject*> expected_;
  std::vector<PyObject*> left_out_;  // by passed_locals
  bool keeps_tensors_ = false;
  std::vector<PyObject*> to_fill_;
  std::vector<std::pair<PyObject*, PyObject*>> states_;  // iterator, what its __setstate__ is to be given
  std::unordered_set<const ShadowContainer*> written_;   // see begin_writing
  std::unordered_set<PyObject*> moved_;                  // see is_first_move
  std::unordered_set<PyObject*> written_objects_;        // see is_written_to
  std::vector<std::pair<ValueId, ValueId>> watched_;     // weak reference with a callback, referent
  bool found_cycle_ = false;
  std::string refusal_;

  void keep_written_apart();
  ValueId add(PlanStep step);
  ValueId make_value(PyObject* object);
  ValueId late(PyObject* object);
  ValueId reconstruct_by_type(PyObject* object);
  PyObject* kept(Ref made);  // until the plan is carried out
  ValueId outside_value(PyObject* object, Source* source);
  bool has_given_dict(PyObject* object) const;  // which is put in place when all is there
  ValueId make_empty(PyObject* object);
  bool fill(PyObject* object);
  bool fill_tensor(PyObject* object);
  ValueId output(PyObject* fake);
  ValueId output_of(NodeId node);
  ValueId without_history(PyObject* fake);
  ValueId tensor(PyObject* fake);  // the same, with the class that it has in the program
  ValueId new_wrapper(PyObject* wrapper);
  ValueId size(Expression e);
  ValueId truth(SizeCondition condition);
  Source* input_of(const Node& placeholder) const;
  ValueId with_operands(PlanStep::Kind kind, const std::vector<PyObject*>& operands);
  ValueId sequence(PlanStep::Kind kind, PyObject* object);
  ValueId dict(PyObject* object);
  ValueId set(PyObject* object);
  ValueId cell(PyObject* object);
  ValueId names(PyObject* globals);
  ValueId function(PyObject* object);
  ValueId bound_native_method(PyObject* object);
  ValueId partial(PyObject* object);
  ValueId record(PyObject* object);  // a tuple of a C class
  ValueId property(PyObject* object);
  ValueId hashed(const std::vector<Ref>& keys, const std::vector<Ref>* values, const std::vector<Py_hash_t>& hashes);
  ValueId weak_reference(PyObject* object);
  ValueId cached_function(PyObject* object);
  ValueId context_token(PyObject* token);
  ValueId sequence_of_constants(PyObject* object);
  ValueId instance(PyObject* object);
  ValueId exception(PyObject* object);
  ValueId reduced(PyObject* object);
  ValueId dict_iterator(PyObject* object);
  ValueId list_iterator(PyObject* object);
  ValueId dict_iterator_backwards(PyObject* object);
  ValueId deque_iterator(PyObject* object);
  ValueId iterator_of_itertools(PyObject* object);
  bool write_before_iterating(PyObject* container);
  ValueId walked_backwards(ValueId view, Py_ssize_t passed);
  ValueId ordered_dict_iterator(PyObject* object);
  ValueId set_like(PyObject* set);
  ValueId set_iterator(PyObject* object);
  ValueId native_object(PyObject* object);
  ValueId fake_array(PyObject* object);
  ValueId dict_view(PyObject* object);
  ValueId generator(PyObject* object);
};

}  // namespace minidynamo
