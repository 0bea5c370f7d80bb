#include "guard/walk.h"

#include <utility>

#include "guard/steady_walk.h"
#include "python/unstable.h"
#include "python/version/type_version.h"

namespace minidynamo {

// The very object that was seen last needs no comparison: the check keeps it alive, so its address is its own.
bool passes(Check& check, Reached object, std::vector<Ref>& release_later) {
  if (!check.passed) return holds(check, object);
  if (check.passed.is(object.object)) return true;
  if (!holds(check, object)) return false;
  Ref before = std::exchange(check.passed, Ref::borrow(object.object));
  if (PyType_IS_GC(before.type())) release_later.push_back(std::move(before));
  return true;
}

uint64_t GuardNode::version_of(Reached value) const noexcept {
  if (value.inline_attributes) return 0;
  if (of_class) return PyType_Check(value.object) ? type_version(as_type(value.object)) : 0;
  if (!PyDict_Check(value.object)) return 0;
  // The order of an OrderedDict changes without the dict's version.
  if (versioned_checks && PyODict_Check(value.object) && PyODict_SIZE(value.object) > 1) return 0;
  return exact_version(value.object);
}

Walk::Walk(GuardProgram& program, const FrameView& frame, PyObject** slots) noexcept
    : program_(program), nodes_(program.nodes_.data()), checks_(program.checks_.data()), frame_(frame), slots_(slots) {}

bool Walk::run() {
  for (size_t i = 0; i < program_.roots_.size(); ++i) {
    const uint32_t root = program_.roots_[i];
    GuardNode& node = nodes_[root];
    PyObject* value = nullptr;
    Lookup lookup = fetch_root(node.access, program_.steps_[root], frame_, value);
    if (node.absent ? lookup != Lookup::Absent : lookup != Lookup::Found) return refuse(root);
    if (!node.absent && !visit_root(root, value, program_.steady_roots_[i])) return false;
  }
  return true;
}

bool Walk::visit_root(uint32_t root, PyObject* value, SteadyRoot& steady) {
  if (nodes_[root].leaf) return visit(root, {value, false});
  const bool is_same = nodes_[root].last == value;
  if (steady.walk) {
    if (is_same && steady.walk->passes(*this)) return true;
    steady.forget();
  }
  changed_.clear();
  if (!visit(root, {value, false})) return false;
  steady.passed = is_same ? steady.passed + 1 : 0;
  if (steady.passed >= steady.wanted) {
    steady.walk = SteadyWalk::record(*this, root);
    if (!steady.walk) steady.forget();
  }
  return true;
}

bool Walk::refuse(uint32_t node) noexcept {
  program_.suspect_ = node;
  program_.suspicion_ = GuardProgram::kSuspicion;
  return false;
}

// Checks begin..end of a node.
bool Walk::pass(const GuardNode& node, uint32_t begin, uint32_t end, Reached value) {
  Check* checks = checks_ + node.first_check;
  for (uint32_t i = begin; i < end; ++i)
    if (!passes(checks[i], value, program_.fresh_)) return false;
  return true;
}

bool Walk::pass_volatile(const GuardNode& node, Reached value) {
  const Check* checks = checks_ + node.first_check;
  for (uint32_t i = node.stable_checks + node.versioned_checks; i < node.checks; ++i)
    if (!holds(checks[i], value)) return false;
  return true;
}

bool Walk::visit(uint32_t index, Reached value) {
  GuardNode& node = nodes_[index];
  node.last = value.object;
  if (!pass(node, 0, node.stable_checks, value) || !pass_volatile(node, value)) return refuse(index);
  return node.leaf || descend(index, value);
}

// As visit(), of an object that passed before and is proven to be the same: its stable checks hold.
bool Walk::revisit(uint32_t index) {
  const GuardNode& node = nodes_[index];
  const Reached value{node.last, false};
  if (!pass_volatile(node, value)) return refuse(index);
  return node.leaf || descend(index, value);
}

bool Walk::descend(uint32_t index, Reached value) {
  const GuardNode& node = nodes_[index];
  if (node.slot >= 0) {
    slots_[node.slot] = value.object;
    if (value.inline_attributes) program_.dicts_to_make_.emplace_back(node.slot, value.object);
  }
  if (node.is_versioned() && !visit_versioned(index, value)) return false;
  for (uint32_t i = node.versioned_children; i < node.children; ++i)
    if (!visit_child(node.first_child + i, value)) return false;
  return true;
}

bool Walk::visit_child(uint32_t index, Reached parent) {
  GuardNode& child = nodes_[index];
  Reached result;
  Ref owned;
  Lookup lookup = fetch(child.access, program_.steps_[index], parent, result, owned);
  if (owned) program_.fresh_.push_back(std::move(owned));
  if (child.absent) return lookup == Lookup::Absent || refuse(index);
  if (lookup != Lookup::Found) return refuse(index);
  return visit(index, result);
}

// True if the values of an instance's dict, whose version equals the stamp, are those of the last walk where the
// version may lag.
bool Walk::backs_version(const GuardNode& node, PyObject* dict) const noexcept {
  if (!version_may_lag(dict)) return true;
  for (uint32_t i = node.first_child; i < node.first_child + node.mortal_children; ++i)
    if (dict_value_at(dict, program_.steps_[i].hint) != nodes_[i].last) return false;
  return true;
}

bool Walk::visit_versioned(uint32_t index, Reached value) {
  GuardNode& node = nodes_[index];
  const uint32_t first = node.first_child;
  uint64_t version = node.version_of(value);
  if (version == 0 && node.of_class && node.versioned_children && !value.inline_attributes &&
      PyType_Check(value.object)) {
    // A class that was changed has no version until something is looked up in it.
    class_attribute(as_type(value.object), program_.steps_[first].key);
    version = node.version_of(value);
  }
  if (version == 0 || version != node.stamp ||
      (node.access == Access::InstanceDict && !backs_version(node, value.object))) {
    node.stamp = 0;
    changed_.push_back(index);
    if (!pass(node, node.stable_checks, node.stable_checks + node.versioned_checks, value)) return refuse(index);
    for (uint32_t i = 0; i < node.versioned_children; ++i) {
      GuardNode& child = nodes_[first + i];
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
    // The stamp is the version from before the first fetch: a write since then has not been looked at.
    nodes_[index].stamp = node.version_of(value) == version ? version : 0;
  }
  for (uint32_t i = 0; i < node.revisited_children; ++i)
    if (!revisit(first + i)) return false;
  return true;
}

}  // namespace minidynamo
