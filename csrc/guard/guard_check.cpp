// The fast check: one walk over the program. See guard_program.h for why it may skip what it skips.
#include <algorithm>
#include <iterator>
#include <utility>

#include "guard/guard_program.h"
#include "python/collector.h"
#include "python/out_of_memory.h"
#include "python/type_version.h"
#include "python/unstable.h"
#include "tensor/symbolic_size.h"

namespace minidynamo {
namespace {

// A constant that is the very object seen last needs no comparison: the check keeps it alive, so its address is its
// own. The one before is let go of when the walk is over, if it may hold something else.
bool passes(Check& check, Reached object, std::vector<Ref>& release_later) {
  if (!check.passed) return holds(check, object);
  if (check.passed.is(object.object)) return true;
  if (!holds(check, object)) return false;
  Ref before = std::exchange(check.passed, Ref::borrow(object.object));
  if (PyType_IS_GC(before.type())) release_later.push_back(std::move(before));
  return true;
}

}  // namespace

class Walk {
 public:
  Walk(GuardProgram& program, const FrameView& frame, PyObject** slots) noexcept
      : program_(program),
        nodes_(program.nodes_.data()),
        checks_(program.checks_.data()),
        frame_(frame),
        slots_(slots) {}

  bool run() {
    for (uint32_t root : program_.roots_) {
      Node& node = nodes_[root];
      PyObject* value = nullptr;
      Lookup lookup = fetch_root(node.access, program_.steps_[root], frame_, value);
      if (node.absent ? lookup != Lookup::Absent : lookup != Lookup::Found) return refuse(root);
      if (!node.absent && !visit(root, {value, false})) return false;
    }
    return true;
  }

 private:
  GuardProgram& program_;
  Node* nodes_;
  Check* checks_;
  const FrameView& frame_;
  PyObject** slots_;

  bool refuse(uint32_t node) noexcept {
    program_.suspect_ = node;
    program_.suspicion_ = GuardProgram::kSuspicion;
    return false;
  }

  // Checks begin..end of a node.
  bool pass(const Node& node, uint32_t begin, uint32_t end, Reached value) {
    Check* checks = checks_ + node.first_check;
    for (uint32_t i = begin; i < end; ++i)
      if (!passes(checks[i], value, program_.fresh_)) return false;
    return true;
  }

  bool pass_volatile(const Node& node, Reached value) {
    const Check* checks = checks_ + node.first_check;
    for (uint32_t i = node.stable_checks + node.versioned_checks; i < node.checks; ++i)
      if (!holds(checks[i], value)) return false;
    return true;
  }

  bool visit(uint32_t index, Reached value) {
    Node& node = nodes_[index];
    node.last = value.object;
    if (!pass(node, 0, node.stable_checks, value) || !pass_volatile(node, value)) return refuse(index);
    return node.leaf || descend(index, value);
  }

  // As visit(), of an object that passed before and is proven to be the same: its stable checks hold.
  bool revisit(uint32_t index) {
    const Node& node = nodes_[index];
    const Reached value{node.last, false};
    if (!pass_volatile(node, value)) return refuse(index);
    return node.leaf || descend(index, value);
  }

  bool descend(uint32_t index, Reached value) {
    const Node& node = nodes_[index];
    if (node.slot >= 0) {
      slots_[node.slot] = value.object;
      if (value.inline_attributes) program_.dicts_to_make_.emplace_back(node.slot, value.object);
    }
    if ((node.versioned_children || node.versioned_checks) && !visit_versioned(index, value)) return false;
    for (uint32_t i = node.versioned_children; i < node.children; ++i)
      if (!visit_child(node.first_child + i, value)) return false;
    return true;
  }

  bool visit_child(uint32_t index, Reached parent) {
    Node& child = nodes_[index];
    Reached result;
    Ref owned;
    Lookup lookup = fetch(child.access, program_.steps_[index], parent, result, owned);
    if (owned) program_.fresh_.push_back(std::move(owned));
    if (child.absent) return lookup == Lookup::Absent || refuse(index);
    if (lookup != Lookup::Found) return refuse(index);
    return visit(index, result);
  }

  // The version of what the versioned children are read from; 0 if it proves nothing. Classes and dicts count
  // separately, so a node asks for the one kind that its children need.
  uint64_t version_of(const Node& node, Reached value) const noexcept {
    if (value.inline_attributes) return 0;
    if (node.of_class) return PyType_Check(value.object) ? type_version(as_type(value.object)) : 0;
    if (!PyDict_Check(value.object)) return 0;
    // The order of an OrderedDict changes without the dict's version.
    if (node.versioned_checks && PyODict_Check(value.object) && PyODict_SIZE(value.object) > 1) return 0;
    return dict_version(value.object);
  }

  // Of an instance's dict with the version of its stamp.
  bool backs_version(const Node& node, Reached dict) const noexcept {
    if (!version_may_lag(dict.object)) return true;
    for (uint32_t i = node.first_child; i < node.first_child + node.mortal_children; ++i)
      if (dict_value_at(dict.object, program_.steps_[i].hint) != nodes_[i].last) return false;
    return true;
  }

  bool visit_versioned(uint32_t index, Reached value) {
    Node& node = nodes_[index];
    const uint32_t first = node.first_child;
    uint64_t version = version_of(node, value);
    if (version == 0 && node.of_class && node.versioned_children && !value.inline_attributes &&
        PyType_Check(value.object)) {
      // A class that was changed has no version until something is looked up in it.
      class_attribute(as_type(value.object), program_.steps_[first].key);
      version = version_of(node, value);
    }
    if (version == 0 || version != node.stamp || (node.access == Access::InstanceDict && !backs_version(node, value))) {
      node.stamp = 0;
      if (!pass(node, node.stable_checks, node.stable_checks + node.versioned_checks, value)) return refuse(index);
      for (uint32_t i = 0; i < node.versioned_children; ++i) {
        Node& child = nodes_[first + i];
        Reached result;
        Ref owned;
        Lookup lookup = fetch(child.access, program_.steps_[first + i], value, result, owned);
        if (child.absent ? lookup != Lookup::Absent : lookup != Lookup::Found) return refuse(first + i);
        if (child.absent) continue;
        if (i >= node.revisited_children) {
          if (!visit(first + i, result)) return false;
          continue;
        }
        child.last = result.object;
        if (!pass(child, 0, child.stable_checks, result)) return refuse(first + i);
      }
      // Of the version that was there before the first fetch: a write since then has not been looked at.
      nodes_[index].stamp = version_of(node, value) == version ? version : 0;
    }
    for (uint32_t i = 0; i < node.revisited_children; ++i)
      if (!revisit(first + i)) return false;
    return true;
  }
};

// One node by itself, reached from the root without stamps: what failed last time is likely to fail again.
bool GuardProgram::passes_alone(uint32_t index, const FrameView& frame, Reached& result) {
  Node& node = nodes_[index];
  Lookup lookup;
  if (parents_[index] == kNoParent) {
    lookup = fetch_root(node.access, steps_[index], frame, result.object);
  } else {
    Reached parent;
    if (!passes_alone(parents_[index], frame, parent)) return false;
    Ref owned;
    lookup = fetch(node.access, steps_[index], parent, result, owned);
    if (owned) fresh_.push_back(std::move(owned));
  }
  if (node.absent) return lookup == Lookup::Absent;
  if (lookup != Lookup::Found) return false;
  for (uint32_t i = 0; i < node.checks; ++i)
    if (!passes(checks_[node.first_check + i], result, fresh_)) return false;
  return true;
}

// A __dict__ that does not exist yet is no other object.
bool GuardProgram::has_no_dict_yet(uint32_t slot) const noexcept {
  return std::any_of(dicts_to_make_.begin(), dicts_to_make_.end(),
                     [&](const auto& made) { return made.first == slot; });
}

bool GuardProgram::are_distinct(PyObject* const* slots) {
  if (distinct_.empty() || std::equal(slots_.begin(), slots_.end(), slots)) return true;
  for (const std::vector<uint32_t>& group : distinct_) {
    distinct_scratch_.clear();
    for (uint32_t slot : group)
      if (!has_no_dict_yet(slot)) distinct_scratch_.push_back(slots[slot]);
    std::sort(distinct_scratch_.begin(), distinct_scratch_.end());
    if (std::adjacent_find(distinct_scratch_.begin(), distinct_scratch_.end()) != distinct_scratch_.end()) return false;
  }
  return true;
}

bool GuardProgram::are_apart() {
  for (ApartGroup& group : groups_apart_) {
    bool is_as_before = true;
    for (size_t i = 0; i < group.nodes.size(); ++i) is_as_before &= nodes_[group.nodes[i]].last == group.passed[i];
    if (is_as_before) continue;
    group_scratch_.clear();
    for (size_t i = 0; i < group.nodes.size(); ++i)
      group_scratch_.emplace_back(nodes_[group.nodes[i]].last, i < group.written);
    std::sort(group_scratch_.begin(), group_scratch_.end());
    const auto meet = [](const auto& a, const auto& b) { return a.first == b.first && (a.second || b.second); };
    if (std::adjacent_find(group_scratch_.begin(), group_scratch_.end(), meet) != group_scratch_.end()) return false;
    for (size_t i = 0; i < group.nodes.size(); ++i) group.passed[i] = nodes_[group.nodes[i]].last;
  }
  return true;
}

bool GuardProgram::shares_storages(PyObject* const* slots) noexcept {
  if (!sharing_) return true;
  for (size_t i = 0; i < sharing_slots_.size(); ++i) sharing_scratch_[i] = slots[sharing_slots_[i]];
  return sharing_->matches(sharing_scratch_.data());
}

int64_t GuardProgram::Number::in(PyObject* object) const noexcept {
  if (dimension >= 0) return size_of_tensor(object, dimension);
  int overflow = 0;
  return PyLong_AsLongLongAndOverflow(object, &overflow);
}

// Of what the walk has passed: tensors with so many dimensions, and ints that fit.
bool GuardProgram::fits_sizes() noexcept {
  if (size_checks_.empty()) return true;
  for (size_t i = 0; i < numbers_.size(); ++i)
    if (numbers_[i].node != kNoNumber) numbers_scratch_[i] = numbers_[i].in(nodes_[numbers_[i].node].last);
  return std::ranges::all_of(size_checks_, [&](const SizeCheck& check) {
    const std::optional<int64_t> value = run_steps(check.steps, numbers_scratch_);
    return value && minidynamo::holds(check.condition.relation, *value);
  });
}

bool GuardProgram::make_gathered_dicts(PyObject** slots) {
  CollectorPaused nothing_else_runs;
  for (auto [slot, instance] : dicts_to_make_) {
    Ref dict = Ref::steal(PyObject_GenericGetDict(instance, nullptr));
    if (!dict) {
      clear_error();
      return false;
    }
    slots[slot] = dict.get();  // the instance owns it from now on
  }
  return true;
}

// Functions that tell a state of the process may run Python code, or let another thread run: nothing has been looked at
// yet.
std::vector<Ref> GuardProgram::call_functions() const {
  std::vector<Ref> results;
  results.reserve(calls_.size());
  for (uint32_t call : calls_) {
    PyObject* key = steps_[parents_[call]].key;
    const Ref function = !is_dying(key) ? Ref::borrow(key) : Ref();  // null: it dies at this moment
    results.push_back(function ? Ref::steal(PyObject_CallNoArgs(function.get())) : Ref());
    clear_error();
  }
  return results;
}

void GuardProgram::drop_owned() noexcept {
  // Taken out first: what dies may run code that comes back here. What an interrupted walk holds is not ours.
  const std::vector<Ref> doomed_apart = std::exchange(apart_, {});
  if (walking_) return;
  const std::vector<Ref> doomed = std::exchange(fresh_, {});
}

bool GuardProgram::check(const FrameView& frame, PyObject** slots) {
  if (is_dead_) return false;
  if (!calls_.empty()) return check_with_calls(frame, slots);
  while (!walking_ && !fresh_.empty()) drop_owned();
  if (walking_) return check_apart(frame, slots);
  const bool passed = walk_alone(frame, slots);
  if (!passed || slots_.empty()) release();
  return passed;
}

bool GuardProgram::walk_alone(const FrameView& frame, PyObject** slots) {
  // Also where it ends for lack of memory.
  const struct Walking {
    bool& is_on;
    explicit Walking(bool& flag) noexcept : is_on(flag) { is_on = true; }
    ~Walking() { is_on = false; }
  } walking(walking_);
  return walk(frame, slots);
}

bool GuardProgram::check_with_calls(const FrameView& frame, PyObject** slots) {
  if (walking_) return check_apart(frame, slots);
  std::vector<Ref> results = call_functions();
  if (is_dead_) return false;  // by what they ran
  while (!walking_ && !fresh_.empty()) drop_owned();
  if (walking_) return check_apart(frame, slots);  // what ran let another thread begin
  for (size_t i = 0; i < results.size(); ++i) steps_[calls_[i]].key = results[i].get();
  bool passed = false;
  const bool is_walked = try_to([&] {
    passed = walk_alone(frame, slots);
    fresh_.insert(fresh_.end(), std::make_move_iterator(results.begin()), std::make_move_iterator(results.end()));
  });
  for (uint32_t call : calls_) steps_[call].key = nullptr;
  if (!is_walked) return false;
  if (!passed || slots_.empty()) release();
  return passed;
}

bool GuardProgram::walk(const FrameView& frame, PyObject** slots) {
  if (!impossible_.empty()) return false;
  dicts_to_make_.clear();
  if (suspect_torch_state_ && !torch_state_->matches()) return false;
  Reached reached;
  if (suspect_ != kNoParent && !passes_alone(suspect_, frame, reached)) {
    suspicion_ = kSuspicion;
    return false;
  }

  // The caller's room is not ours to remember: compare with, and remember, what passed last in slots_.
  if (!slots) slots = own_slots_.data();
  if (!Walk(*this, frame, slots).run()) return false;
  if (!suspect_torch_state_ && !torch_state_->matches()) {
    suspect_torch_state_ = true;
    return false;
  }
  for (const Relation& relation : relations_)
    if ((nodes_[relation.left].last == nodes_[relation.right].last) != relation.same) return false;
  if (!are_distinct(slots) || !are_apart() || !shares_storages(slots) || !fits_sizes()) return false;
  // What passed is remembered before missing dicts are made: those are objects that no walk has seen.
  std::copy_n(slots, slots_.size(), slots_.begin());
  if (!dicts_to_make_.empty() && !make_gathered_dicts(slots)) return false;
  if (suspect_ != kNoParent && --suspicion_ == 0) suspect_ = kNoParent;
  return true;
}

bool GuardProgram::check_apart(const FrameView& frame, PyObject** slots) {
  CollectorPaused nothing_else_runs;
  Everything all;
  if (first_failure(frame, all)) return false;
  for (uint32_t index = 0; slots && index < nodes_.size(); ++index) {
    if (nodes_[index].slot < 0) continue;
    const Reached found = all.reached[index];
    Ref value = found.inline_attributes ? Ref::steal(PyObject_GenericGetDict(found.object, nullptr))
                                        : Ref::borrow(found.object);
    if (!value) return clear_error(), false;
    slots[nodes_[index].slot] = value.get();
    apart_.push_back(std::move(value));
  }
  // What else was reached lives as long, so that nothing dies here.
  std::move(all.owners.begin(), all.owners.end(), std::back_inserter(apart_));
  return true;
}

}  // namespace minidynamo
