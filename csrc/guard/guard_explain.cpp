// The plain slow check, and everything that people read: the same tables, no stamps, no remembered pointers.
#include <algorithm>
#include <unordered_map>

#include "guard/constants.h"
#include "guard/guard_program.h"
#include "tensor/fake/fake.h"

namespace minidynamo {

// Reaches every node the plain slow way. Where one cannot be reached as it should, or a check does not hold, told(node,
// the check or null) says whether to go on.
template <typename Told>
void GuardProgram::walk_slowly(const FrameView& frame, Everything& all, Told told) const {
  all.reached.resize(nodes_.size());
  all.owners.resize(nodes_.size());
  for (uint32_t index = 0; index < nodes_.size(); ++index) {
    const GuardNode& node = nodes_[index];
    Reached& value = all.reached[index];
    const Lookup lookup =
        parents_[index] == kNoParent
            ? fetch_root(node.access, steps_[index], frame, value.object)
            : fetch_slowly(node.access, steps_[index], all.reached[parents_[index]], value, all.owners[index]);
    // Without an object there is nothing below to walk to.
    if (node.absent ? lookup != Lookup::Absent : lookup != Lookup::Found) return void(told(index, nullptr));
    if (node.absent) continue;
    for (uint32_t i = 0; i < node.checks; ++i) {
      const Check& check = checks_[node.first_check + i];
      if (!minidynamo::holds(check, value) && !told(index, &check)) return;
    }
    all.owners[index] = Ref::borrow(value.object);  // behind the checks, of which one counts references
  }
}

std::optional<Failure> GuardProgram::first_failure(const FrameView& frame) const {
  Everything all;
  return first_failure(frame, all);
}

std::optional<Failure> GuardProgram::first_failure(const FrameView& frame, Everything& all) const {
  Failure failure;
  if (!impossible_.empty()) {
    failure.text = impossible_;
    return failure;
  }
  if (!std::all_of(weak_keys_.begin(), weak_keys_.end(), [](const WeakKey& key) { return key.is_alive(); })) {
    failure.text = "an object that is guarded by identity is gone";
    return failure;
  }
  std::vector<Reached>& reached = all.reached;
  bool all_hold = true;
  walk_slowly(frame, all, [&](uint32_t index, const Check* check) {
    failure.node = index;
    failure.seen = reached[index];
    failure.seen_owner = Ref::borrow(reached[index].object);
    failure.check = check;
    return all_hold = false;
  });
  if (!all_hold) return failure;
  failure = {};
  if (!torch_state_->matches()) {
    failure.text = "torch's global state: " + torch_state_->difference();
    return failure;
  }
  for (const Relation& relation : relations_) {
    if ((reached[relation.left].object == reached[relation.right].object) == relation.same) continue;
    failure.relation = &relation;
    return failure;
  }
  const std::vector<uint32_t> nodes_of_slots = gathering_nodes();
  std::vector<std::pair<PyObject*, uint32_t>> objects;
  for (const std::vector<uint32_t>& group : distinct_) {
    objects.clear();
    for (const uint32_t slot : group) {
      const uint32_t index = nodes_of_slots[slot];
      if (!reached[index].inline_attributes) objects.emplace_back(reached[index].object, index);
    }
    std::sort(objects.begin(), objects.end());
    for (size_t i = 1; i < objects.size(); ++i) {
      if (objects[i].first != objects[i - 1].first) continue;
      failure.text = path_of(objects[i - 1].second) + " is not " + path_of(objects[i].second) +
                     ": the same tensor now, different ones when captured";
      return failure;
    }
  }
  for (const DisjointGroup& group : groups_apart_) {
    std::unordered_map<PyObject*, uint32_t> written;
    for (size_t i = 0; i < group.nodes.size(); ++i) {
      const uint32_t index = group.nodes[i];
      const auto first = i < group.written ? written.emplace(reached[index].object, index)
                                           : std::pair{written.find(reached[index].object), false};
      if (first.second || first.first == written.end()) continue;
      failure.text = path_of(first.first->second) + " is not " + path_of(index) + ": the same object now";
      return failure;
    }
  }
  if (sharing_) {
    std::vector<PyObject*> tensors;
    for (uint32_t slot : sharing_slots_) tensors.push_back(reached[nodes_of_slots[slot]].object);
    if (!sharing_->matches_slowly(tensors.data())) {
      failure.text = "the storages of tensors that are written to: other tensors share them now, or in other places";
      return failure;
    }
  }
  std::vector<int64_t> numbers;
  for (const Number& number : numbers_)
    numbers.push_back(number.node == kNoNumber ? 0 : number.in(reached[number.node].object));
  for (const SizeCheck& check : size_checks_) {
    const std::optional<int64_t> value = evaluate(check.condition.expression, numbers);
    if (value && minidynamo::holds(check.condition.relation, *value)) continue;
    failure.size = &check;
    failure.text = size_text(check) + " does not hold:";
    for (const int32_t symbol : symbols_of(check.condition.expression))
      failure.text +=
          (failure.text.ends_with(':') ? " " : ", ") + number_text(symbol) + " is " + std::to_string(numbers[symbol]);
    return failure;
  }
  return std::nullopt;
}

namespace {

// True if two constants differ only in ints and floats that they are, or that tuples in them hold. Adds the paths of
// these numbers.
bool differ_in_numbers(PyObject* expected, PyObject* object, const std::string& path, ChangedNumbers& changed) {
  if (Py_TYPE(expected) != Py_TYPE(object)) return false;
  if (PyTuple_CheckExact(expected)) {
    if (PyTuple_GET_SIZE(expected) != PyTuple_GET_SIZE(object)) return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(expected); ++i) {
      PyObject *one = PyTuple_GET_ITEM(expected, i), *other = PyTuple_GET_ITEM(object, i);
      if (!constants_equal(one, other) && !differ_in_numbers(one, other, path + "[" + std::to_string(i) + "]", changed))
        return false;
    }
    return true;
  }
  if (!PyLong_CheckExact(expected) && !PyFloat_CheckExact(expected)) return false;
  changed.emplace_back(path, ~OpenSizes{0});
  return true;
}

}  // namespace

std::string GuardProgram::number_of(const Failure& failure) const {
  const Check* check = failure.check;
  if (!check || check->kind != GuardKind::Constant || !check->expected) return "";
  PyObject* expected = check->expected.get();
  return PyLong_CheckExact(expected) || PyFloat_CheckExact(expected) ? path_of(failure.node) : "";
}

ChangedNumbers GuardProgram::changed_numbers(const FrameView& frame) const {
  const std::optional<Failure> first = first_failure(frame);
  if (!first || (!first->check && !first->size)) return {};
  ChangedNumbers changed;
  bool only_numbers = true;
  Everything all;
  walk_slowly(frame, all, [&](uint32_t index, const Check* check) {
    const Reached value = all.reached[index];
    only_numbers = false;
    if (!check || value.inline_attributes) return false;
    if (check->kind == GuardKind::Tensor && is_tensor(value.object)) {
      const OpenSizes sizes = check->tensor->changed_sizes(value.object);
      if (sizes) changed.emplace_back(path_of(index), sizes);
      only_numbers = sizes != 0;
    } else if (check->kind == GuardKind::Constant && check->expected) {
      only_numbers = differ_in_numbers(check->expected.get(), value.object, path_of(index), changed);
    }
    return only_numbers;
  });
  return only_numbers ? changed : ChangedNumbers();
}

std::string GuardProgram::number_text(int32_t symbol) const {
  const Number& number = numbers_[symbol];
  if (number.node == kNoNumber) return "?";
  return number_path(path_of(number.node), number.dimension);
}

std::string GuardProgram::size_text(const SizeCheck& check) const {
  std::vector<std::string> names;
  for (size_t i = 0; i < numbers_.size(); ++i) names.push_back(number_text(static_cast<int32_t>(i)));
  return text_of(check.condition, names);
}

std::vector<uint32_t> GuardProgram::gathering_nodes() const {
  std::vector<uint32_t> nodes(slots_.size());
  for (uint32_t index = 0; index < nodes_.size(); ++index)
    if (nodes_[index].slot >= 0) nodes[nodes_[index].slot] = index;
  return nodes;
}

// Each of the written ones is another object, and none of the others.
std::string GuardProgram::apart_text(const DisjointGroup& group) const {
  std::string sets[2];
  for (size_t i = 0; i < group.nodes.size(); ++i) {
    std::string& set = sets[i >= group.written];
    set += (set.empty() ? "" : ", ") + path_of(group.nodes[i]);
  }
  if (group.nodes.size() == 2) return path_of(group.nodes[0]) + " is not " + path_of(group.nodes[1]);
  const std::string written = "{id(o) for o in (" + sets[0] + ",)}", others = "{id(o) for o in (" + sets[1] + ",)}";
  std::string text = group.written > 1 ? "len(" + written + ") == " + std::to_string(group.written) : "";
  if (!sets[1].empty()) text += (text.empty() ? "" : " and ") + written + ".isdisjoint(" + others + ")";
  return text;
}

std::string GuardProgram::path_of(uint32_t index, bool absent) const {
  std::vector<PathStep> path;
  for (uint32_t node = index; node != kNoParent; node = parents_[node]) {
    const std::string* text = nullptr;
    const auto named = std::lower_bound(text_of_.begin(), text_of_.end(), std::pair{node, 0u});
    if (named != text_of_.end() && named->first == node) text = &texts_[named->second];
    PyObject* key = steps_[node].key;
    for (const WeakKey& weak : weak_keys_)
      if (weak.node == node && !weak.is_alive()) key = nullptr;
    path.push_back({nodes_[node].access, key, steps_[node].index, text});
  }
  std::reverse(path.begin(), path.end());
  return absent ? absence_text(path) : path_text(path);
}

std::string GuardProgram::cause_text(Cause cause, bool in_function) const {
  if (cause.origin >= origins_.size() || !origins_[cause.origin].filename) return "";
  std::string file = string_text(origins_[cause.origin].filename.get());
  size_t slash = file.find_last_of('/');
  if (slash != std::string::npos && slash + 1 < file.size()) file = file.substr(slash + 1);
  std::string text = file + ":" + std::to_string(cause.line);
  return in_function ? text + " in " + string_text(origins_[cause.origin].function.get()) : text;
}

std::string GuardProgram::failure_text(const Failure& failure) const {
  Cause cause;
  std::string text;
  if (failure.relation) {
    const Relation& relation = *failure.relation;
    text = path_of(relation.left) + (relation.same ? " is " : " is not ") + path_of(relation.right) +
           (relation.same ? ": different objects now" : ": the same object now");
    cause = relation.cause;
  } else if (failure.check) {
    text = minidynamo::failure_text(*failure.check, path_of(failure.node), failure.seen);
    cause = {failure.check->origin, failure.check->line};
  } else if (failure.size) {
    text = failure.text;
    cause = failure.size->cause;
  } else if (failure.node == kNoParent) {
    return failure.text;
  } else if (nodes_[failure.node].absent) {
    text = path_of(failure.node, true) + ": it is there now";
    if (failure.seen.object) text += " (" + object_text(failure.seen.object) + ")";
    cause = absence_causes_[failure.node];
  } else {
    text = path_of(failure.node) + ": cannot be reached any more";
    // The guard that wanted it is on this node or below.
    uint32_t at = failure.node;
    while (nodes_[at].checks == 0 && nodes_[at].children) at = nodes_[at].first_child;
    cause = absence_causes_[at];
    if (nodes_[at].checks) cause = {checks_[nodes_[at].first_check].origin, checks_[nodes_[at].first_check].line};
  }
  std::string place = cause_text(cause, true);
  return place.empty() ? text : text + "  [guarded because of " + place + "]";
}

std::vector<std::string> GuardProgram::to_text() const {
  std::vector<std::string> lines;
  auto add = [&](std::string text, Cause cause) {
    std::string place = cause_text(cause, false);
    lines.push_back(place.empty() ? std::move(text) : text + "  # " + place);
  };
  for (uint32_t index = 0; index < nodes_.size(); ++index) {
    const GuardNode& node = nodes_[index];
    if (node.absent) add(path_of(index, true), absence_causes_[index]);
    for (uint32_t i = 0; i < node.checks; ++i) {
      const Check& check = checks_[node.first_check + i];
      add(check_text(check, path_of(index)), {check.origin, check.line});
    }
  }
  for (const Relation& relation : relations_)
    add(path_of(relation.left) + (relation.same ? " is " : " is not ") + path_of(relation.right), relation.cause);
  const std::vector<uint32_t> nodes_of_slots = gathering_nodes();
  for (const std::vector<uint32_t>& group : distinct_) {
    if (group.size() < 2) continue;
    std::string paths;
    for (uint32_t slot : group) paths += (paths.empty() ? "" : ", ") + path_of(nodes_of_slots[slot]);
    lines.push_back("len({id(t) for t in (" + paths + ")}) == " + std::to_string(group.size()));
  }
  for (const DisjointGroup& group : groups_apart_) lines.push_back(apart_text(group));
  if (sharing_) {
    const std::vector<std::vector<uint32_t>> groups = sharing_->groups();
    if (groups.empty()) lines.push_back("no tensor shares the storage of one that is written to");
    for (const std::vector<uint32_t>& group : groups) {
      std::string paths;
      for (uint32_t position : group)
        paths += (paths.empty() ? "" : ", ") + path_of(nodes_of_slots[sharing_slots_[position]]);
      lines.push_back("one storage, and no other's: " + paths);
    }
  }
  for (const SizeCheck& check : size_checks_) add(size_text(check), check.cause);
  lines.push_back(torch_state_->to_text());
  return lines;
}

}  // namespace minidynamo
