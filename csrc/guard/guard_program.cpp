// From builder to program: what is needed, which checks can change when, and the order in which they lie.
#include "guard/guard_program.h"

#include <algorithm>
#include <span>

#include "guard/constants.h"
#include "python/process/out_of_memory.h"

namespace minidynamo {
namespace {

Reached seen_at(const Source& source) noexcept { return {source.value.get(), source.inline_attributes}; }

bool is_versioned_access(Access access) noexcept {
  return access == Access::DictItem || access == Access::ClassAttribute;
}

// Lists of numbers per source, one after the other in a single array.
class Lists {
 public:
  explicit Lists(size_t sources) : begins_(sources + 1) {}
  // First count() each element's owner, then start(), then append() in the order wanted.
  void count(uint32_t owner) { ++begins_[owner + 1]; }
  void start() {
    for (size_t i = 1; i < begins_.size(); ++i) begins_[i] += begins_[i - 1];
    items_.resize(begins_.back());
    ends_.assign(begins_.begin(), begins_.end() - 1);
  }
  void append(uint32_t owner, uint32_t item) { items_[ends_[owner]++] = item; }
  std::span<uint32_t> of(uint32_t owner) {
    return {items_.data() + begins_[owner], static_cast<size_t>(ends_[owner] - begins_[owner])};
  }

 private:
  std::vector<uint32_t> begins_, ends_, items_;
};

// Facts about one source that decide how its node lies.
struct Layout {
  bool needed = false;  // leads to a guard or a gathered object
  bool revisit = false;
  bool mortal = true;  // the value may run code when it dies
  uint8_t form = 0;
  uint32_t size = 1;  // nodes of the subtree
  uint32_t node = kNoParent;
};

class Compiler {
 public:
  explicit Compiler(GuardBuilder& builder)
      : builder_(builder),
        layouts_(builder.size()),
        children_(builder.size()),
        checks_of_(builder.size()),
        causes_(builder.size()) {}

  std::vector<Check> prepared;
  std::string impossible;
  size_t absences = 0;

  void mark_needed() {
    for (const GuardRequest& request : builder_.requests()) {
      layouts_[request.source->id].needed = true;
      if (request.other) layouts_[request.other->id].needed = true;
    }
    for (const Source* source : builder_.gathered()) layouts_[source->id].needed = true;
    for (const OpenNumber& number : builder_.numbers)
      if (number.source) layouts_[number.source->id].needed = true;
    for (const ApartRequest& apart : builder_.apart)
      for (const Source* source : apart.sources) layouts_[source->id].needed = true;
    for (uint32_t id = size(); id-- > 0;) {
      const Source& source = builder_.source(id);
      if (!layouts_[id].needed || !source.parent) continue;
      layouts_[source.parent->id].needed = true;
      children_.count(source.parent->id);
    }
    children_.start();
    for (uint32_t id = 0; id < size(); ++id) {
      const Source& source = builder_.source(id);
      if (!layouts_[id].needed || !source.parent) continue;
      children_.append(source.parent->id, id);
      if (source.parent->value) layouts_[id].form = step_form(source.access, source.key.get(), seen_at(*source.parent));
    }
  }

  void prepare_checks() {
    prepared.reserve(builder_.requests().size());
    std::vector<uint32_t> owners;
    owners.reserve(builder_.requests().size());
    for (const GuardRequest& request : builder_.requests()) {
      const Source& source = *request.source;
      if (request.other) continue;
      if (request.kind == GuardKind::Missing) {
        causes_[source.id] = {request.origin, request.line};
        ++absences;
        continue;
      }
      Check& check = prepared.emplace_back(Check{request.kind});
      check.origin = request.origin;
      check.line = request.line;
      check.open = source.open_sizes;
      if (prepare_check(check, seen_at(source))) {
        owners.push_back(source.id);
        checks_of_.count(source.id);
        continue;
      }
      prepared.pop_back();
      if (impossible.empty())
        impossible = source.to_text() + ": no guard of kind " + guard_name(request.kind) + " fits " +
                     object_text(source.value.get());
    }
    checks_of_.start();
    for (uint32_t i = 0; i < owners.size(); ++i) checks_of_.append(owners[i], i);
  }

  void decide_revisits() {
    // Children have higher numbers than their parents.
    for (uint32_t id = size(); id-- > 0;) {
      Layout& layout = layouts_[id];
      if (!layout.needed) continue;
      const Source& source = builder_.source(id);
      std::span<uint32_t> checks = checks_of_.of(id);
      // By stability, otherwise as asked for; a source has few checks.
      for (size_t end = 1; end < checks.size(); ++end)
        for (size_t i = end; i > 0 && prepared[checks[i]].stability < prepared[checks[i - 1]].stability; --i)
          std::swap(checks[i], checks[i - 1]);
      layout.revisit |= source.slot >= 0;
      layout.mortal = !source.absent && !std::any_of(checks.begin(), checks.end(), [&](uint32_t check) {
        return prepared[check].passed && is_plain_constant(prepared[check].passed.get());
      });
      if (!checks.empty()) layout.revisit |= prepared[checks.back()].stability != Stability::Stable;
      if (!source.parent) continue;
      Layout& parent = layouts_[source.parent->id];
      parent.size += layout.size;
      parent.revisit |= layout.revisit || !is_stable(source.access, layout.form);
    }
  }

  // Small trees first: plain arguments are cheap to check and the likeliest to change.
  std::vector<uint32_t> ordered_roots() {
    std::vector<uint32_t> roots;
    for (uint32_t id = 0; id < size(); ++id)
      if (layouts_[id].needed && !builder_.source(id).parent) roots.push_back(id);
    auto rank = [&](uint32_t id) {
      return std::pair(builder_.source(id).access == Access::Pinned ? 1 : 0, layouts_[id].size);
    };
    std::stable_sort(roots.begin(), roots.end(), [&](uint32_t a, uint32_t b) { return rank(a) < rank(b); });
    return roots;
  }

  // Puts the children into their order (see GuardNode) and tells the node where each part ends.
  void order_children(uint32_t id, GuardNode& node) {
    std::span<uint32_t> children = children_.of(id);
    node.children = static_cast<uint32_t>(children.size());
    // A value is a dict or a class, not both: the first versioned child decides.
    Access group = Access::Local;
    for (uint32_t child : children) {
      if (!is_versioned_access(builder_.source(child).access)) continue;
      group = builder_.source(child).access;
      break;
    }
    if (!is_versioned_access(group)) return;
    node.of_class = group == Access::ClassAttribute;
    auto partition = [&](auto begin, auto end, auto first) { return std::stable_partition(begin, end, first); };
    auto versioned = partition(children.begin(), children.end(),
                               [&](uint32_t child) { return builder_.source(child).access == group; });
    auto revisited = partition(children.begin(), versioned, [&](uint32_t child) { return layouts_[child].revisit; });
    auto mortal = partition(revisited, versioned, [&](uint32_t child) { return layouts_[child].mortal; });
    node.revisited_children = static_cast<uint32_t>(revisited - children.begin());
    node.mortal_children = static_cast<uint32_t>(mortal - children.begin());
    node.versioned_children = static_cast<uint32_t>(versioned - children.begin());
  }

  size_t needed_count() const {
    return static_cast<size_t>(
        std::count_if(layouts_.begin(), layouts_.end(), [](const Layout& layout) { return layout.needed; }));
  }
  Layout& layout(uint32_t id) { return layouts_[id]; }
  std::span<uint32_t> children(uint32_t id) { return children_.of(id); }
  std::span<uint32_t> checks(uint32_t id) { return checks_of_.of(id); }
  Cause absence_cause(uint32_t id) const { return causes_[id]; }

 private:
  GuardBuilder& builder_;
  std::vector<Layout> layouts_;  // these by Source::id
  Lists children_, checks_of_;
  std::vector<Cause> causes_;

  uint32_t size() const noexcept { return static_cast<uint32_t>(builder_.size()); }
};

}  // namespace

GuardProgram::GuardProgram(GuardBuilder& builder) {
  compile(builder);
  torch_state_.emplace(std::move(builder.torch_state));
  for (const Check& check : checks_) each_held_weakly(check, [this](PyObject* object) { death_watch_.watch(object); });
}

void GuardProgram::compile(GuardBuilder& builder) {
  Compiler compiler(builder);
  compiler.mark_needed();
  compiler.prepare_checks();
  compiler.decide_revisits();
  impossible_ = std::move(compiler.impossible);
  absences_ = compiler.absences;

  const size_t count = compiler.needed_count();
  nodes_.reserve(count);
  steps_.reserve(count);
  parents_.reserve(count);
  absence_causes_.reserve(count);
  keys_.reserve(count);
  checks_.reserve(compiler.prepared.size());
  std::vector<uint32_t> source_of;
  source_of.reserve(count);
  DictHashes dict_hashes;
  auto place = [&](uint32_t id, uint32_t parent) {
    Source& source = builder.source(id);
    Layout& layout = compiler.layout(id);
    layout.node = static_cast<uint32_t>(nodes_.size());
    source_of.push_back(id);
    GuardNode& node = nodes_.emplace_back();
    node.access = source.access;
    node.absent = source.absent;
    node.revisit = layout.revisit;
    node.slot = source.slot;
    const Py_hash_t hash = source.access == Access::DictItem ? dict_hash(source, dict_hashes) : source.hash;
    steps_.push_back({source.key.get(), hash, source.index, layout.form, 0});
    parents_.push_back(parent);
    if (source.access == Access::CallResult) {
      calls_.push_back(layout.node);
      // It is called before anything else is looked at.
      if (parent == kNoParent || nodes_[parent].access != Access::Pinned) impossible_ = "a call of what is not pinned";
    }
    absence_causes_.push_back(compiler.absence_cause(id));
    if (source.text) {
      text_of_.emplace_back(layout.node, static_cast<uint32_t>(texts_.size()));
      texts_.push_back(*source.text);
    }
    hold_key(source, layout.node);
  };
  // Depth first, the children of one node side by side.
  for (uint32_t id : compiler.ordered_roots()) {
    roots_.push_back(static_cast<uint32_t>(nodes_.size()));
    place(id, kNoParent);
  }
  std::vector<uint32_t> open(roots_.rbegin(), roots_.rend());
  while (!open.empty()) {
    const uint32_t index = open.back();
    open.pop_back();
    const uint32_t id = source_of[index];
    std::span<uint32_t> children = compiler.children(id), checks = compiler.checks(id);
    GuardNode& node = nodes_[index];
    compiler.order_children(id, node);
    node.first_child = static_cast<uint32_t>(nodes_.size());
    node.first_check = static_cast<uint32_t>(checks_.size());
    node.checks = static_cast<uint16_t>(checks.size());
    for (uint32_t check : checks) {
      const Stability when = compiler.prepared[check].stability;
      node.stable_checks += when == Stability::Stable;
      node.versioned_checks += when == Stability::Versioned;
      const GuardKind kind = compiler.prepared[check].kind;
      node.of_class |= subject_of(kind) == GuardSubject::Class;
      checks_.push_back(std::move(compiler.prepared[check]));
    }
    node.leaf = children.empty() && node.slot < 0 && node.versioned_checks == 0;
    for (uint32_t child : children) place(child, index);  // nodes_ has room: `node` stays where it is
    for (uint32_t i = node.children; i-- > 0;) open.push_back(node.first_child + i);
  }

  for (const GuardRequest& request : builder.requests())
    if (request.other)
      relations_.push_back({compiler.layout(request.source->id).node,
                            compiler.layout(request.other->id).node,
                            request.kind == GuardKind::SameAs,
                            {request.origin, request.line}});
  for (const ApartRequest& request : builder.apart) {
    DisjointGroup& group = groups_apart_.emplace_back(DisjointGroup{{}, request.written, {}});
    for (const Source* source : request.sources) group.nodes.push_back(compiler.layout(source->id).node);
    group.passed.resize(group.nodes.size());
    group_scratch_.reserve(std::max(group_scratch_.capacity(), group.nodes.size()));
  }
  distinct_ = std::move(builder.distinct);
  sharing_slots_ = std::move(builder.storage_slots);
  if (!sharing_slots_.empty()) {
    for (uint32_t slot : sharing_slots_) sharing_scratch_.push_back(builder.gathered()[slot]->value.get());
    sharing_.emplace(StorageSharing::of(sharing_scratch_, builder.storage_written));
  }
  steady_roots_.resize(roots_.size());
  for (const OpenNumber& number : builder.numbers)
    numbers_.push_back({number.source ? compiler.layout(number.source->id).node : kNoNumber, number.dimension});
  numbers_scratch_.resize(numbers_.size());
  for (const GuardBuilder::SizeRequest& request : builder.sizes)
    size_checks_.push_back({request.condition, steps_of(request.condition.expression), {request.origin, request.line}});
  origins_ = std::move(builder.origins());
  slots_.resize(builder.gathered().size());
  own_slots_.resize(slots_.size());
  for (const std::vector<uint32_t>& group : distinct_)
    distinct_scratch_.reserve(std::max(distinct_scratch_.capacity(), group.size()));
}

// A key that is an object of its own is held weakly: with it, the check can never pass again.
void GuardProgram::hold_key(Source& source, uint32_t node) {
  if (!source.key) return;
  PyObject* key = source.key.get();
  PyObject* holder = source.access == Access::Pinned && PyDict_CheckExact(key) ? owner_of_names(key) : key;
  if (!source.kept && can_be_held_weakly(holder)) {
    Ref reference = death_watch_.watch(holder) ? Ref::steal(PyWeakref_NewRef(holder, nullptr)) : Ref();
    if (reference) {
      weak_keys_.push_back({node, std::move(reference)});
      return;
    }
    clear_error();
  }
  keys_.push_back(std::move(source.key));
}

void GuardProgram::die() {
  is_dead_ = true;
  // The function that is called may end the program.
  if (const std::function<void()> tell = std::exchange(told_of_death_, nullptr)) tell();
}

int GuardProgram::traverse(visitproc visit, void* arg) const {
  for (const Ref& key : keys_) Py_VISIT(key.get());
  for (const Ref& object : fresh_) Py_VISIT(object.get());
  for (const Check& check : checks_) {
    Py_VISIT(check.expected.get());
    Py_VISIT(check.passed.get());
  }
  return 0;
}

}  // namespace minidynamo
