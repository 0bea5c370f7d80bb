// What the trace knows of the world before it: which in-trace object stands for which outside object, and by which
// source.
//
// Most outside objects stand for themselves (functions, classes, modules, instances of Python classes). Tensors are
// replaced by fakes. Builtin containers are replaced by *stand-ins*: containers of the same type, filled with in-trace
// objects the first time anything but a plain read by the evaluator touches them. Mutations happen on the stand-in and
// are found by comparing at the end. Attribute writes on outside instances go to an overlay. So nothing outside is ever
// written (design.md invariant 1).
#pragma once
#include <deque>
#include <functional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "guard/source.h"
#include "python/ref.h"

namespace minidynamo {

class Tracer;

// A builtin container that stands for an outside one.
struct StandIn {
  Ref original, object;
  Source* source;
  bool filled = false;
  std::vector<Ref> snapshot;  // after filling: its elements (dict: key, value, ...), to see what the trace changed
};

// What it holds now, in the order of its snapshot (borrowed).
std::vector<PyObject*> elements_of(const StandIn& stand_in);

// A pending attribute write; a null value is a deletion.
struct AttributeWrite {
  Ref object, name, value;
};

// A ContextVar that the trace has set, to an in-trace value.
struct ContextSet {
  Ref variable, value, token;
};

class Outside {
 public:
  // The in-trace object for what a source gave, with the guards that its use needs. Null on a break.
  Ref enter(Tracer& tracer, Source* source);

  // The source of an in-trace object that stands for an outside one; null for what the trace made.
  Source* source_of(PyObject* object) const noexcept;
  // As above; an identity-guarded object may also be pinned on the spot (classes, functions, modules).
  Source* source_or_pin(Tracer& tracer, PyObject* object);
  void know(PyObject* object, Source* source) { sources_.emplace(object, source); }
  // The fake or stand-in for an outside object; null if it has none.
  PyObject* replacement_of(PyObject* outside_object) const noexcept;

  StandIn* stand_in(PyObject* object) noexcept;  // null if the object is none
  // Another object that shows what a stand-in holds.
  void also_stands_in(PyObject* object, StandIn* stand_in) { stand_in_of_.emplace(object, stand_in); }
  // Fills it: every element enters. After that any code may use it as the real thing.
  bool fill(Tracer& tracer, StandIn& stand_in);
  bool fill_if_stand_in(Tracer& tracer, PyObject* object) {
    StandIn* found = stand_in(object);
    return !found || found->filled || fill(tracer, *found);
  }
  // Calls visit(object, source) for everything known.
  template <typename Visit>
  void each_known(Visit visit) const {
    for (const auto& [object, source] : sources_) visit(object, source);
  }
  const std::deque<StandIn>& stand_ins() const noexcept { return stand_ins_; }

  // Whether the original has attributes of its own, which the stand-in has not; guarded.
  bool has_attributes(Tracer& tracer, const StandIn& stand_in);

  // Reads that leave a stand-in unfilled. `found` false: absent (guarded). Null Ref with found true: break.
  Ref dict_item(Tracer& tracer, StandIn& stand_in, PyObject* key, bool& found);
  Ref sequence_item(Tracer& tracer, StandIn& stand_in, Py_ssize_t index);  // index already in range
  Py_ssize_t length(Tracer& tracer, StandIn& stand_in);

  // Whether the trace changed what the container holds. For filled ones.
  bool is_changed(const StandIn& stand_in) const;

  // How much the trace has changed of what was there before, so far.
  size_t count_changes() const;

  // Objects that can be passed on, but not looked into or used: what C code keeps in them is not known.
  bool is_opaque(PyObject* object) const noexcept { return !opaque_.empty() && opaque_.count(object); }
  // Objects that the program told apart by their identity: they must all be different at the next call.
  void told_apart(Source* source) { told_apart_.insert(source); }
  const std::unordered_set<Source*>& all_told_apart() const noexcept { return told_apart_; }
  // In-trace iterators for outside ones (outside_iterator.h).
  const std::vector<PyObject*>& iterators() const noexcept { return iterators_; }
  // The fakes that stand for outside tensors.
  const std::vector<PyObject*>& fakes() const noexcept { return fakes_; }

  // Pending writes to attributes of outside instances.
  const AttributeWrite* pending(PyObject* object, PyObject* name) const noexcept;
  void write(PyObject* object, PyObject* name, PyObject* value);
  void write_class(PyObject* type, PyObject* name, PyObject* value) {
    writes_classes_ = true;
    write(type, name, value);
  }
  // Calls for the residual code to make, of which the trace knows the results.
  struct LaterCall {
    Ref callable, positional, keywords;  // keywords may be null
  };
  void call_later(PyObject* callable, Ref positional, Ref keywords) {
    later_calls_.push_back({Ref::borrow(callable), std::move(positional), std::move(keywords)});
  }
  const std::vector<LaterCall>& later_calls() const noexcept { return later_calls_; }
  // An object out of a cache, which may have made another one by the time that the residual code asks it.
  void came_from_cache(PyObject* object, PyObject* callable, Ref positional, Ref keywords) {
    from_caches_.insert({object, {Ref::borrow(callable), std::move(positional), std::move(keywords)}});
  }
  const LaterCall* cache_behind(PyObject* object) const noexcept {
    auto found = from_caches_.find(object);
    return found == from_caches_.end() ? nullptr : &found->second;
  }
  // Context variables, in the order in which they were set.
  void set_context(ContextSet set) { context_sets_.push_back(std::move(set)); }
  const ContextSet* last_set(PyObject* variable) const noexcept;  // null: the trace has not set it
  void take_back(const ContextSet& set) { context_sets_.erase(context_sets_.begin() + (&set - context_sets_.data())); }
  const std::vector<ContextSet>& context_sets() const noexcept { return context_sets_; }
  bool writes_classes() const noexcept { return writes_classes_; }
  std::vector<AttributeWrite> take_writes(PyObject* object);  // those of one object, which are then no longer pending
  const std::vector<AttributeWrite>& writes() const noexcept { return writes_; }

 private:
  std::unordered_map<PyObject*, Source*> sources_;   // in-trace object -> source
  std::unordered_map<PyObject*, Ref> replacements_;  // outside object -> fake or stand-in
  std::deque<StandIn> stand_ins_;
  std::unordered_map<PyObject*, StandIn*> stand_in_of_;  // by in-trace object
  std::vector<AttributeWrite> writes_;
  bool writes_classes_ = false;
  std::vector<LaterCall> later_calls_;
  std::vector<ContextSet> context_sets_;
  std::unordered_map<PyObject*, LaterCall> from_caches_;
  std::unordered_set<PyObject*> opaque_;
  std::unordered_set<Source*> told_apart_;
  std::vector<PyObject*> iterators_;
  std::vector<PyObject*> fakes_;

  Ref enter_instance(Tracer& tracer, Source* source);
  Ref enter_opaque(Tracer& tracer, Source* source);
  Ref enter_bound_native(Tracer& tracer, Source* source);
  Ref enter_super(Tracer& tracer, Source* source);
  Ref enter_holder(Tracer& tracer, Source* source, const char* held_name, const std::function<Ref(PyObject*)>& make);
  void guard_part(Tracer& tracer, Source* source, const char* name, GuardKind kind);
  Ref enter_proxy(Tracer& tracer, Source* source);
  Ref enter_tuple(Tracer& tracer, Source* source);
  Ref enter_container(Tracer& tracer, Source* source);
  Ref enter_tensor(Tracer& tracer, Source* source);
};

// What matters of it is which object it is: functions of modules, classes, modules, descriptors. It does not change in
// ways that a trace reads unguarded.
bool is_guarded_by_identity(PyObject* object) noexcept;

// Fit for looking up in an outside dict without filling its stand-in: constants, and what hashes and compares by
// identity.
bool is_plain_key(PyObject* object) noexcept;

// None, numbers, strings, torch.dtype and the like, and tuples and frozensets of them: guarded by value.
bool is_constant(PyObject* object) noexcept;

}  // namespace minidynamo
