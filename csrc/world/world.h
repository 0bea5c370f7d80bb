// What the trace knows of the world before it: which in-trace object stands for which outside object, and by which
// source.
//
// Most outside objects stand for themselves (functions, classes, modules, instances of Python classes). Tensors are
// replaced by fakes. Builtin containers are replaced by *stand-ins*: containers of the same type, filled with in-trace
// objects the first time anything but a plain read by the evaluator touches them. Mutations happen on the stand-in and
// are found by comparing at the end. So nothing outside is ever
// written (design.md invariant 1); attribute writes are in the effect log (effect_log.h).
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
  bool changed_before = false;  // an earlier change is in the effect log
  // After filling, or as the effect log has it: its elements (dict: key, value, ...), to see what the trace changed.
  std::vector<Ref> snapshot;
  uint64_t version = 0;  // of a dict that holds what the snapshot says; 0: unknown
};

// What a container holds now, in the order of a snapshot.
std::vector<Ref> elements_of(PyObject* container);
// Whether a filled one holds anything else than its snapshot.
bool differs_from_snapshot(const StandIn& stand_in);

// The effect log has what a filled one holds now.
void accept_changes(StandIn& stand_in);
// Whether a filled one may have been changed at some time, even if it holds again what it held.
bool may_have_been_changed(const StandIn& stand_in) noexcept;

class Outside {
 public:
  // The in-trace object for what a source gave, with the guards that its use needs. Null on a break.
  Ref enter(Tracer& tracer, Source* source);

  // The source of an in-trace object that stands for an outside one; null for what the trace made.
  Source* source_of(PyObject* object) const noexcept;
  // As above; an identity-guarded object may also be pinned on the spot (classes, functions, modules).
  Source* source_or_pin(Tracer& tracer, PyObject* object);
  // The dict of a module's names, of the builtins or of the imported modules, which is read and written name by name;
  // as an object it is opaque from here on. Null, with the trace given up, where it is used as a dict already.
  Source* namespace_source(Tracer& tracer, PyObject* names, const char* text = "G");
  void know_namespace(PyObject* names, Source* source) {
    if (!replacement_of(names)) know(names, source), opaque_.insert(names);
  }
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
  std::deque<StandIn>& stand_ins() noexcept { return stand_ins_; }

  // Whether the original has attributes of its own, which the stand-in has not; guarded.
  bool has_attributes(Tracer& tracer, const StandIn& stand_in);

  // Reads that leave a stand-in unfilled. `found` false: absent (guarded). Null Ref with found true: break.
  Ref dict_item(Tracer& tracer, StandIn& stand_in, PyObject* key, bool& found);
  Ref sequence_item(Tracer& tracer, StandIn& stand_in, Py_ssize_t index);  // index already in range
  Py_ssize_t length(Tracer& tracer, StandIn& stand_in);

  // Whether the trace changed what the container holds. For filled ones.
  bool is_changed(const StandIn& stand_in) const { return stand_in.changed_before || differs_from_snapshot(stand_in); }
  // How often a stand-in was asked for: equal numbers mean that nothing in between looked into one or changed it.
  size_t stand_in_uses() const noexcept { return stand_in_uses_; }

  // Objects that can be passed on, but not looked into or used: what C code keeps in them is not known.
  bool is_opaque(PyObject* object) const noexcept { return !opaque_.empty() && opaque_.count(object); }
  // Whether the trace pinned instances of this type: keys of a dict, which have no other source.
  bool pins_type(PyTypeObject* type) const noexcept { return !pinned_types_.empty() && pinned_types_.count(type); }
  // Objects that the program told apart by their identity: they must all be different at the next call.
  void told_apart(Source* source) { told_apart_.insert(source); }
  const std::unordered_set<Source*>& all_told_apart() const noexcept { return told_apart_; }
  // The fakes that stand for outside tensors.
  const std::vector<PyObject*>& fakes() const noexcept { return fakes_; }

 private:
  std::unordered_map<PyObject*, Source*> sources_;   // in-trace object -> source
  std::unordered_map<PyObject*, Ref> replacements_;  // outside object -> fake or stand-in
  std::deque<StandIn> stand_ins_;
  std::unordered_map<PyObject*, StandIn*> stand_in_of_;  // by in-trace object
  size_t stand_in_uses_ = 0;
  std::unordered_set<PyObject*> opaque_;
  std::unordered_set<Source*> told_apart_;
  std::unordered_set<PyTypeObject*> pinned_types_;
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
