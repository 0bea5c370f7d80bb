// The trace's view of the world before it: which in-trace object stands for which external object, and by which
// source.
//
// Most external objects stand for themselves (functions, classes, modules, instances of Python classes). Tensors are
// replaced by fakes. Builtin containers are replaced by *shadows*: containers of the same type, filled with in-trace
// objects the first time anything but a plain read by the evaluator, or an addition to a list's end, touches them.
// Mutations happen on the shadow and are found by comparing at the end. So nothing outside is ever written
// (docs/architecture.md, rule 1); attribute writes are in the effect log (effect_log.h).
#pragma once
#include <deque>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "guard/source.h"
#include "python/ref.h"
#include "world/state/shadow_container.h"

namespace minidynamo {

class World {
 public:
  // The source of an in-trace object that stands for an external one; null for what the trace made.
  Source* source_of(PyObject* object) const noexcept;
  void know(PyObject* object, Source* source) { sources_.emplace(object, source); }
  // Calls visit(object, source) for everything known.
  template <typename Visit>
  void each_known(Visit visit) const {
    for (const auto& [object, source] : sources_) visit(object, source);
  }
  // The fake or shadow for an external object; null if it has none.
  PyObject* replacement_of(PyObject* outside_object) const noexcept;
  void replace(PyObject* outside_object, Ref object) { replacements_.emplace(outside_object, std::move(object)); }
  // The dict of a module's names, which is read and written name by name; as an object it is opaque.
  void know_namespace(PyObject* names, Source* source) {
    if (!replacement_of(names)) know(names, source), make_opaque(names);
  }

  ShadowContainer* shadow(PyObject* object) noexcept;  // null if the object is none
  ShadowContainer& add_shadow(Ref original, Ref object, Source* source);
  // Another object that shows what a shadow holds.
  void is_shadowed_by(PyObject* object, ShadowContainer* shadow) { shadow_of_.emplace(object, shadow); }
  std::deque<ShadowContainer>& shadows() noexcept { return shadows_; }
  // True if the trace changed what the container holds.
  bool is_changed(const ShadowContainer& shadow) const {
    return shadow.changed_before || differs_from_snapshot(shadow);
  }
  // The number of times that a shadow was asked for: equal numbers mean that nothing in between looked into one or
  // changed it.
  size_t shadow_uses() const noexcept { return shadow_uses_; }
  // Calls visit(shadow) for those that were asked for since the last call, of the ones whose elements may have an end
  // that the program sees.
  template <typename Visit>
  void each_used_holder(Visit visit) {
    for (ShadowContainer* shadow : used_holders_) shadow->is_used = false, visit(*shadow);
    used_holders_.clear();
  }
  bool any_holder_is_used() const noexcept { return !used_holders_.empty(); }
  void note_use(ShadowContainer& shadow) {
    if (!shadow.entered.empty() && !std::exchange(shadow.is_used, true)) used_holders_.push_back(&shadow);
  }

  // Objects that can be passed on, but not looked into or used: what C code keeps in them is not known.
  bool is_opaque(PyObject* object) const noexcept { return !opaque_.empty() && opaque_.count(object); }
  void make_opaque(PyObject* object) { opaque_.insert(object); }
  // True if the trace pinned instances of this type: keys of a dict, which have no other source.
  bool pins_type(PyTypeObject* type) const noexcept { return !pinned_types_.empty() && pinned_types_.count(type); }
  void pins(PyTypeObject* type) { pinned_types_.insert(type); }
  // Objects that the program told apart by their identity: they must all be different at the next call.
  void require_distinct(Source* source) { distinct_.insert(source); }
  const std::unordered_set<Source*>& distinct_sources() const noexcept { return distinct_; }
  // The fakes that stand for external tensors.
  const std::vector<PyObject*>& fakes() const noexcept { return fakes_; }
  void add_fake(PyObject* fake) { fakes_.push_back(fake); }

 private:
  std::unordered_map<PyObject*, Source*> sources_;   // in-trace object -> source
  std::unordered_map<PyObject*, Ref> replacements_;  // external object -> fake or shadow
  std::deque<ShadowContainer> shadows_;
  std::unordered_map<PyObject*, ShadowContainer*> shadow_of_;  // by in-trace object
  size_t shadow_uses_ = 0;
  std::vector<ShadowContainer*> used_holders_;
  std::unordered_set<PyObject*> opaque_;
  std::unordered_set<Source*> distinct_;
  std::unordered_set<PyTypeObject*> pinned_types_;
  std::vector<PyObject*> fakes_;
};

}  // namespace minidynamo
