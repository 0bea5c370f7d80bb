// Makes the lists of steady walks, and checks them.
#include "guard/steady_walk.h"

#include <algorithm>
#include <unordered_set>

#include "guard/mirror_mode.h"
#include "guard/walk.h"
#include "python/version/type_version.h"

namespace minidynamo {

// Goes the way of the walk, without changing anything.
class SteadyWalk::Recorder {
 public:
  Recorder(Walk& walk, SteadyWalk& steady)
      : program_(walk.program_),
        nodes_(walk.nodes_),
        changed_(walk.changed_.begin(), walk.changed_.end()),
        steady_(steady) {}

  // `is_proven`: the object is the one that the walk has seen. Otherwise it has the same address.
  // False: this part has to be walked over.
  bool visit(uint32_t index, Reached value, bool is_proven) {
    const GuardNode& node = nodes_[index];
    if (changed_.contains(index) || (node.slot >= 0 && value.inline_attributes)) return false;
    if (!is_proven) add_checks(node, 0, node.stable_checks, value);
    add_checks(node, node.stable_checks + node.versioned_checks, node.checks, value);
    if (node.leaf) return true;
    if (node.slot >= 0) steady_.gathered_.emplace_back(node.slot, value.object);
    if (node.is_versioned()) {
      if (!add_version(node, value, is_proven)) return false;
      for (uint32_t i = node.first_child; i < node.first_child + node.revisited_children; ++i)
        visit_or_walk(i, {nodes_[i].last, false}, true, value);
    }
    for (uint32_t i = node.versioned_children; i < node.children; ++i)
      visit_child(node.first_child + i, value, is_proven);
    return true;
  }

  void end_words() {
    const auto end = static_cast<uint32_t>(steady_.words_.size());
    if (end != words_end_) steady_.steps_.emplace_back(Words{words_end_ = end});
  }

 private:
  GuardProgram& program_;
  const GuardNode* nodes_;
  std::unordered_set<uint32_t> changed_;
  SteadyWalk& steady_;
  uint32_t words_end_ = 0;
  std::unordered_set<PyTypeObject*> classes_;  // whose versions have been compared before
  PyObject* last_classified_ = nullptr;

  template <typename Kind>
  void add(Kind step) {
    end_words();
    steady_.steps_.emplace_back(step);
  }

  void add_checks(const GuardNode& node, uint32_t begin, uint32_t end, Reached value) {
    for (uint32_t i = begin; i < end; ++i) {
      const Check& check = program_.checks_[node.first_check + i];
      if (holds_by_address(check)) continue;
      const bool is_type = check.kind == GuardKind::ExactType && !value.inline_attributes;
      if (!is_type || !add_class_of(value.object)) add(Checked{&check, value});
    }
  }

  // That what is alive at the address is of the same class.
  bool add_class_of(PyObject* object) {
    if (object == last_classified_) return true;
    PyTypeObject* type = Py_TYPE(object);
    const bool can_die = type->tp_flags & Py_TPFLAGS_HEAPTYPE;
    const uint32_t version = type_version(type);
    if (can_die && version == 0) return false;
    steady_.words_.push_back(type_word(object));
    if (can_die) add_class(type, version);
    last_classified_ = object;
    return true;
  }

  // That a class that is alive is the same, unchanged.
  void add_class(PyTypeObject* type, uint32_t version) {
    if (classes_.insert(type).second) add(ClassVersion{type, version});
  }

  // That the value has the version of the node's stamp.
  bool add_version(const GuardNode& node, Reached value, bool is_proven) {
    const uint64_t version = node.version_of(value);
    if (version == 0 || version != node.stamp) return false;
    const bool has_layout = is_proven || node.access == Access::InstanceDict || node.access == Access::Type;
    if (!has_layout && !add_class_of(value.object)) return false;
    if (node.of_class) {
      add_class(as_type(value.object), static_cast<uint32_t>(version));
      return true;
    }
    steady_.words_.push_back(version_word(value.object));
    if (node.access == Access::InstanceDict && node.mortal_children) add(Backed{&node, value.object});
    return true;
  }

  template <typename Element>
  static void shorten(std::vector<Element>& vector, size_t size) {
    vector.erase(vector.begin() + static_cast<std::ptrdiff_t>(size), vector.end());
  }

  void visit_or_walk(uint32_t index, Reached value, bool is_proven, Reached parent) {
    const size_t words = steady_.words_.size(), steps = steady_.steps_.size(), gathered = steady_.gathered_.size();
    const uint32_t words_end = words_end_;
    if (visit(index, value, is_proven)) return;
    // The steps that it has added are dropped, among them comparisons of classes, which have to be made again later.
    shorten(steady_.words_, words);
    shorten(steady_.steps_, steps);
    shorten(steady_.gathered_, gathered);
    words_end_ = words_end;
    classes_.clear();
    last_classified_ = nullptr;
    add(Walked{index, parent});
  }

  void visit_child(uint32_t index, Reached parent, bool parent_is_proven) {
    const GuardNode& child = nodes_[index];
    AccessStep& step = program_.steps_[index];
    Reached result;
    Ref owned;
    const Lookup lookup = fetch(child.access, step, parent, result, owned);
    if (owned || lookup != (child.absent ? Lookup::Absent : Lookup::Found) ||
        (!child.absent && result.object != child.last)) {
      add(Walked{index, parent});
      return;
    }
    const bool is_proven = parent_is_proven && is_stable(child.access, step.form);
    const bool has_dict = child.access == Access::InstanceDict && !child.absent && !result.inline_attributes;
    if (has_dict && add_class_of(parent.object)) {
      append_dict_words(parent.object, steady_.words_);
    } else if (child.access == Access::Type && !parent.inline_attributes) {
      steady_.words_.push_back(type_word(parent.object));
    } else if (PyObject* const* place = child.absent ? nullptr : place_of(child.access, step, parent);
               place && (parent_is_proven || add_class_of(parent.object))) {
      steady_.words_.push_back(MemoryWord::at(place));
    } else if (!is_proven) {
      add(Fetched{index, parent, result});
    }
    if (!child.absent) visit_or_walk(index, result, is_proven, parent);
  }
};

std::unique_ptr<SteadyWalk> SteadyWalk::record(Walk& walk, uint32_t root) {
  auto steady = std::make_unique<SteadyWalk>();
  Recorder recorder(walk, *steady);
  const GuardNode& node = walk.nodes_[root];
  if (!recorder.visit(root, {node.last, false}, node.access == Access::Pinned)) return nullptr;
  recorder.end_words();
  return steady;
}

void SteadyRoot::forget() noexcept {
  constexpr uint32_t kMostWanted = 4096;
  walk.reset();
  passed = 0;
  wanted = mirror_mode == Mirror::Off ? std::min(2 * wanted, kMostWanted) : 1;  // tests have no patience
}

// Checks one step after the other.
class SteadyWalk::Checker {
 public:
  Checker(const SteadyWalk& steady, Walk& walk) noexcept : steady_(steady), walk_(walk), program_(walk.program_) {}

  bool operator()(const Words& step) {
    for (; word_ < step.end; ++word_)
      if (!steady_.words_[word_].is_unchanged()) return false;
    return true;
  }
  bool operator()(const ClassVersion& step) { return type_version(step.type) == step.version; }
  bool operator()(const Fetched& step) {
    Reached result;
    Ref owned;
    const Lookup lookup =
        fetch(program_.nodes_[step.node].access, program_.steps_[step.node], step.parent, result, owned);
    if (owned) program_.fresh_.push_back(std::move(owned));
    return lookup == (step.result.object ? Lookup::Found : Lookup::Absent) && result.object == step.result.object &&
           result.inline_attributes == step.result.inline_attributes;
  }
  bool operator()(const Checked& step) { return holds(*step.check, step.object); }
  bool operator()(const Backed& step) { return walk_.backs_version(*step.node, step.dict); }
  bool operator()(const Walked& step) { return walk_.visit_child(step.node, step.parent); }

 private:
  const SteadyWalk& steady_;
  Walk& walk_;
  GuardProgram& program_;
  uint32_t word_ = 0;
};

bool SteadyWalk::passes(Walk& walk) const {
  Checker checker(*this, walk);
  for (const Step& step : steps_)
    if (!std::visit(checker, step)) return false;
  for (const auto& [slot, object] : gathered_) walk.slots_[slot] = object;
  return true;
}

}  // namespace minidynamo
