// The fast check: a walk over the nodes (walk.h), and what is asked of several nodes together.
#include <algorithm>
#include <iterator>
#include <utility>

#include "guard/guard_program.h"
#include "guard/walk.h"
#include "python/process/collector.h"
#include "python/process/out_of_memory.h"
#include "python/unstable.h"
#include "tensor/symbolic/symbolic_size.h"

namespace minidynamo {
// One node by itself, reached from the root without stamps: what failed last time is likely to fail again.
bool GuardProgram::passes_alone(uint32_t index, const FrameView& frame, Reached& result) {
  GuardNode& node = nodes_[index];
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

// True if a member's object differs from those of the other members: from all of them if it is written to, else from
// the written ones.
bool GuardProgram::is_apart(const DisjointGroup& group, size_t member) const {
  const PyObject* object = nodes_[group.nodes[member]].last;
  const size_t end = member < group.written ? group.nodes.size() : group.written;
  for (size_t i = 0; i < end; ++i)
    if (i != member && nodes_[group.nodes[i]].last == object) return false;
  return true;
}

bool GuardProgram::are_apart() {
  constexpr size_t kFew = 4;
  for (DisjointGroup& group : groups_apart_) {
    size_t changed[kFew], count = 0;  // those that are another object than in the check that passed last
    for (size_t i = 0; i < group.nodes.size(); ++i) {
      if (nodes_[group.nodes[i]].last == group.passed[i]) continue;
      if (count < kFew) changed[count] = i;
      ++count;
    }
    if (count == 0) continue;
    if (count <= kFew) {
      if (!std::all_of(changed, changed + count, [&](size_t member) { return is_apart(group, member); })) return false;
    } else {
      group_scratch_.clear();
      for (size_t i = 0; i < group.nodes.size(); ++i)
        group_scratch_.emplace_back(nodes_[group.nodes[i]].last, i < group.written);
      std::sort(group_scratch_.begin(), group_scratch_.end());
      const auto meet = [](const auto& a, const auto& b) { return a.first == b.first && (a.second || b.second); };
      if (std::adjacent_find(group_scratch_.begin(), group_scratch_.end(), meet) != group_scratch_.end()) return false;
    }
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

// True if the values that the walk has passed fit: tensors with so many dimensions, and ints that fit.
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
  if (walking_) return check_apart(frame, slots);  // the functions called let another thread begin
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
  // The passed objects are remembered before missing dicts are made: those are objects that no walk has seen.
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
  // All other objects reached live as long, so that nothing dies here.
  std::move(all.owners.begin(), all.owners.end(), std::back_inserter(apart_));
  return true;
}

}  // namespace minidynamo
