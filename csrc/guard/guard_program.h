// The finished tree: nodes and checks in flat arrays, made from a GuardBuilder, checked in one walk.
//
// How a check is fast. A node remembers the version of the dict or class that its value was when all items read from it
// had passed. Versions are never used twice, so an equal one proves that it is the same dict, unchanged, and that the
// values that passed are its values still (the dict keeps them alive): nothing is fetched, and of these values only
// those are looked at that have mutable state of their own or are gathered; they stand first among the children.
// Whatever else was remembered (GuardNode::last) is used only after such a proof in the same walk, so a stale address
// is never followed. Where walks go the same way call after call, even the nodes are left out (steady_walk.h).
//
// Soundness rests on this: while a walk runs no Python code does, and a stamp is written only after every fetch and
// every stable check it stands for has passed, if the version is still what it was before them. What could run Python
// code is kept out of the walk: functions that have to be called are called before it begins (GuardProgram::calls_),
// what it allocates is allocated with the garbage collector paused, and what it lets go of is let go of when it is
// over. Should a walk be interrupted all the same (a getter of a C extension that lets go of the GIL), a second walk of
// the same program meanwhile leaves its state alone (GuardProgram::check_apart).
#pragma once
#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "guard/guard_builder.h"
#include "guard/guard_kinds.h"
#include "guard/steady_walk.h"
#include "python/objects/weak_hold.h"
#include "tensor/fake/tensor_facts.h"

namespace minidynamo {

// The part of a node that a walk touches where an unchanged parent proves it to be the same: one cache line.
struct alignas(64) GuardNode {
  Access access;
  bool absent = false;   // must lead nowhere
  bool revisit = false;  // has anything that an unchanged parent does not prove
  bool leaf = false;     // nothing to do but stable and volatile checks
  int32_t slot = -1;
  // Children are contiguous: [versioned: revisited | with values that may run code when they die | others] [not
  // versioned].
  uint32_t first_child = 0;
  uint32_t revisited_children = 0, mortal_children = 0, versioned_children = 0, children = 0;  // ends of these
  uint32_t first_check = 0;  // checks are contiguous: [stable | versioned | volatile]
  uint16_t stable_checks = 0, versioned_checks = 0, checks = 0;
  bool of_class = false;     // the version is that of a class, not of a dict
  uint64_t stamp = 0;        // version of the value when all versioned children and checks had passed
  PyObject* last = nullptr;  // its object in the walk that passed last; see above

  bool is_versioned() const noexcept { return versioned_children || versioned_checks; }
  // The version of the object that the versioned children are read from; 0 if it proves nothing. Classes and dicts
  // count separately, so a node reads the one kind that its children need.
  uint64_t version_of(Reached value) const noexcept;
};
static_assert(sizeof(GuardNode) == 64);

// Where a guard comes from: an index into the program's names of code objects, and a line.
struct Cause {
  uint32_t origin = UINT32_MAX;
  int32_t line = 0;
};

inline constexpr uint32_t kNoParent = UINT32_MAX;

struct Relation {
  uint32_t left, right;  // nodes
  bool same;
  Cause cause;
};

// The target of a node's step, alive as long as its holder is.
struct WeakKey {
  uint32_t node;
  Ref holder;  // weak reference
  bool is_alive() const noexcept { return PyWeakref_GET_OBJECT(holder.get()) != Py_None; }
};

// Nodes of which the first `written` must each lead to an object of its own.
struct DisjointGroup {
  std::vector<uint32_t> nodes;
  size_t written;
  std::vector<PyObject*> passed;  // where they led to in the check that passed last; only compared, never followed
};

// A condition on numbers that may differ.
struct SizeCheck {
  SizeCondition condition;
  std::vector<SizeStep> steps;
  Cause cause;
};

// A guard that does not hold, for messages.
struct Failure {
  uint32_t node = kNoParent;     // none: see `text`
  const Check* check = nullptr;  // none: the node cannot be reached, or can and must not
  const Relation* relation = nullptr;
  const SizeCheck* size = nullptr;
  Reached seen;
  Ref seen_owner;
  std::string text;
};

class GuardProgram {
 public:
  explicit GuardProgram(GuardBuilder& builder);

  // Gathers `slots` if all guards hold; they are alive until `release` or the next check, but only while nothing else
  // runs.
  bool check(const FrameView& frame, PyObject** slots);
  void release() noexcept {
    if (!fresh_.empty() || !apart_.empty()) drop_owned();
  }
  // Alive as long as what a check gathers.
  void keep(std::vector<Ref> objects) {
    fresh_.insert(fresh_.end(), std::make_move_iterator(objects.begin()), std::make_move_iterator(objects.end()));
  }
  // Called once, when something dies that the guards hold weakly: they never hold again.
  void when_object_dies(std::function<void()> told) { told_of_death_ = std::move(told); }
  std::optional<Failure> first_failure(const FrameView& frame) const;  // the plain slow way
  std::string failure_text(const Failure& failure) const;
  // The source of the int or float that had to have one value; "" if that is not what failed.
  std::string number_of(const Failure& failure) const;
  ChangedNumbers changed_numbers(const FrameView& frame) const;
  std::vector<std::string> to_text() const;

  size_t guard_count() const noexcept {
    return checks_.size() + relations_.size() + absences_ + distinct_.size() + groups_apart_.size() +
           (sharing_ ? 1 : 0) + size_checks_.size();
  }
  uint32_t gathered() const noexcept { return static_cast<uint32_t>(slots_.size()); }
  bool has_steady_walk() const noexcept {
    return std::ranges::any_of(steady_roots_, [](const SteadyRoot& root) { return root.walk != nullptr; });
  }
  int traverse(visitproc visit, void* arg) const;

 private:
  friend class Walk;
  friend class SteadyWalk;
  std::vector<GuardNode> nodes_;       // parents before children
  std::vector<AccessStep> steps_;      // by node
  std::vector<uint32_t> parents_;      // by node; kNoParent for roots
  std::vector<Cause> absence_causes_;  // by node
  std::vector<Check> checks_;
  std::vector<uint32_t> roots_;  // cheap first
  std::vector<SteadyRoot> steady_roots_;
  std::vector<Relation> relations_;
  std::vector<std::vector<uint32_t>> distinct_;
  std::vector<DisjointGroup> groups_apart_;
  std::vector<std::pair<PyObject*, bool>> group_scratch_;  // object, whether it is written to
  std::vector<uint32_t> sharing_slots_;
  std::optional<StorageSharing> sharing_;
  static constexpr uint32_t kNoNumber =
      UINT32_MAX;  // one that is not there before the graph has run: no guard names it
  struct Number {
    uint32_t node;
    int32_t dimension;
    int64_t in(PyObject* object) const noexcept;
  };
  std::vector<Number> numbers_;
  std::vector<SizeCheck> size_checks_;
  std::vector<int64_t> numbers_scratch_;
  std::vector<OriginName> origins_;
  std::vector<Ref> keys_;  // own what the nodes' steps point to, but for what is held weakly
  std::vector<WeakKey> weak_keys_;
  bool is_dead_ = false;  // something that is held weakly has died
  std::function<void()> told_of_death_;
  DeathWatch death_watch_{[this] { die(); }};
  std::vector<std::string> texts_;
  std::vector<std::pair<uint32_t, uint32_t>> text_of_;  // (node, index into texts_), pinned roots
  std::optional<TorchState> torch_state_;
  std::string impossible_;  // why no frame can pass; "" normally
  size_t absences_ = 0;
  std::vector<uint32_t> calls_;  // CallResult nodes; a walk finds the results in their steps' keys

  bool walking_ = false;
  std::vector<PyObject*> slots_;  // slots of the walk that passed last
  std::vector<Ref> fresh_;        // objects without another owner, and those to release after the walk
  std::vector<Ref> apart_;        // the same of walks apart
  std::vector<std::pair<uint32_t, PyObject*>> dicts_to_make_;  // gathered __dict__s that do not exist yet
  std::vector<PyObject*> own_slots_;                           // room for callers that want none
  std::vector<PyObject*> distinct_scratch_;
  std::vector<PyObject*> sharing_scratch_;
  // A guard that failed is asked first for a while: what refused one frame will refuse others.
  static constexpr uint32_t kSuspicion = 32;  // checks that pass until it is forgotten
  uint32_t suspicion_ = 0;
  uint32_t suspect_ = kNoParent;  // node where the last failing walk failed
  bool suspect_torch_state_ = false;

  void compile(GuardBuilder& builder);
  void hold_key(Source& source, uint32_t node);
  void die();

  bool walk_alone(const FrameView& frame, PyObject** slots);
  bool walk(const FrameView& frame, PyObject** slots);
  bool check_with_calls(const FrameView& frame, PyObject** slots);
  bool check_apart(const FrameView& frame, PyObject** slots);
  std::vector<Ref> call_functions() const;
  void drop_owned() noexcept;
  struct Everything {  // the objects that a slow walk reached, by node
    std::vector<Reached> reached;
    std::vector<Ref> owners;
  };
  template <typename Told>
  void walk_slowly(const FrameView& frame, Everything& all, Told told) const;
  std::optional<Failure> first_failure(const FrameView& frame, Everything& all) const;

  bool passes_alone(uint32_t node, const FrameView& frame, Reached& result);
  bool are_distinct(PyObject* const* slots);
  bool is_apart(const DisjointGroup& group, size_t member) const;
  bool are_apart();
  bool shares_storages(PyObject* const* slots) noexcept;
  bool fits_sizes() noexcept;
  bool has_no_dict_yet(uint32_t slot) const noexcept;
  bool make_gathered_dicts(PyObject** slots);

  std::string path_of(uint32_t node, bool absent = false) const;
  std::vector<uint32_t> gathering_nodes() const;  // by slot
  std::string number_text(int32_t symbol) const;
  std::string size_text(const SizeCheck& check) const;
  std::string apart_text(const DisjointGroup& group) const;
  std::string cause_text(Cause cause, bool in_function) const;
};

}  // namespace minidynamo
