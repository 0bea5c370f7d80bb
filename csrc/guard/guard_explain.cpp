// The plain slow check, and everything that people read: the same tables, no stamps, no remembered pointers.
#include <algorithm>

#include "guard/constants.h"
#include "guard/guard_program.h"

namespace minidynamo {

std::optional<Failure> GuardProgram::first_failure(const FrameView& frame) const {
  Failure failure;
  if (!impossible_.empty()) {
    failure.text = impossible_;
    return failure;
  }
  std::vector<Reached> reached(nodes_.size());
  std::vector<Ref> owners(nodes_.size());
  for (uint32_t index = 0; index < nodes_.size(); ++index) {
    const Node& node = nodes_[index];
    Reached& value = reached[index];
    Lookup lookup = parents_[index] == kNoParent
                        ? fetch_root(node.access, steps_[index], frame, value.object)
                        : fetch_slowly(node.access, steps_[index], reached[parents_[index]], value, owners[index]);
    failure.node = index;
    failure.seen = value;
    if (node.absent ? lookup != Lookup::Absent : lookup != Lookup::Found) {
      failure.seen_owner = Ref::borrow(value.object);
      return failure;
    }
    if (node.absent) continue;
    owners[index] = Ref::borrow(value.object);
    for (uint32_t i = 0; i < node.checks; ++i) {
      const Check& check = checks_[node.first_check + i];
      if (holds(check, value)) continue;
      failure.check = &check;
      failure.seen_owner = owners[index];
      return failure;
    }
  }
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
  for (const std::vector<uint32_t>& group : distinct_) {
    std::vector<std::pair<PyObject*, uint32_t>> objects;
    for (uint32_t index = 0; index < nodes_.size(); ++index)
      if (nodes_[index].slot >= 0 && !reached[index].inline_attributes &&
          std::find(group.begin(), group.end(), nodes_[index].slot) != group.end())
        objects.emplace_back(reached[index].object, index);
    std::sort(objects.begin(), objects.end());
    for (size_t i = 1; i < objects.size(); ++i) {
      if (objects[i].first != objects[i - 1].first) continue;
      failure.text = path_of(objects[i - 1].second) + " is not " + path_of(objects[i].second) +
                     ": the same tensor now, different ones when captured";
      return failure;
    }
  }
  if (sharing_) {
    std::vector<PyObject*> tensors(sharing_slots_.size());
    for (uint32_t index = 0; index < nodes_.size(); ++index)
      for (size_t i = 0; i < sharing_slots_.size(); ++i)
        if (nodes_[index].slot == static_cast<int32_t>(sharing_slots_[i])) tensors[i] = reached[index].object;
    if (!sharing_->matches_slowly(tensors.data())) {
      failure.text = "the storages of tensors that are written to: other tensors share them now, or in other places";
      return failure;
    }
  }
  return std::nullopt;
}

std::string GuardProgram::path_of(uint32_t index, bool absent) const {
  std::vector<PathStep> path;
  for (uint32_t node = index; node != kNoParent; node = parents_[node]) {
    const std::string* text = nullptr;
    for (auto [named, at] : text_of_)
      if (named == node) text = &texts_[at];
    path.push_back({nodes_[node].access, steps_[node].key, steps_[node].index, text});
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
    const Node& node = nodes_[index];
    if (node.absent) add(path_of(index, true), absence_causes_[index]);
    for (uint32_t i = 0; i < node.checks; ++i) {
      const Check& check = checks_[node.first_check + i];
      add(check_text(check, path_of(index)), {check.origin, check.line});
    }
  }
  for (const Relation& relation : relations_)
    add(path_of(relation.left) + (relation.same ? " is " : " is not ") + path_of(relation.right), relation.cause);
  for (const std::vector<uint32_t>& group : distinct_) {
    std::string paths;
    for (uint32_t slot : group)
      for (uint32_t index = 0; index < nodes_.size(); ++index)
        if (nodes_[index].slot == static_cast<int32_t>(slot)) paths += (paths.empty() ? "" : ", ") + path_of(index);
    lines.push_back("len({id(t) for t in (" + paths + ",)}) == " + std::to_string(group.size()));
  }
  if (sharing_) {
    auto path_of_slot = [&](uint32_t slot) {
      for (uint32_t index = 0; index < nodes_.size(); ++index)
        if (nodes_[index].slot == static_cast<int32_t>(slot)) return path_of(index);
      return std::string("?");
    };
    const std::vector<std::vector<uint32_t>> groups = sharing_->groups();
    if (groups.empty()) lines.push_back("no tensor shares the storage of one that is written to");
    for (const std::vector<uint32_t>& group : groups) {
      std::string paths;
      for (uint32_t position : group) paths += (paths.empty() ? "" : ", ") + path_of_slot(sharing_slots_[position]);
      lines.push_back("one storage, and no other's: " + paths);
    }
  }
  lines.push_back(torch_state_->to_text());
  return lines;
}

}  // namespace minidynamo
