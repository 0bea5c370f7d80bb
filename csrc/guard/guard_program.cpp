// From builder to program: what is needed, which checks can change when, and the order in which they lie.
#include "guard/guard_program.h"

#include <algorithm>
#include <tuple>

#include "guard/constants.h"

namespace minidynamo {
namespace {

Reached seen_at(const Source& source) noexcept { return {source.value.get(), source.inline_attributes}; }

bool is_versioned_access(Access access) noexcept {
  return access == Access::DictItem || access == Access::ClassAttribute;
}

// Facts about one source that decide how its node lies; indexed by Source::id.
struct Layout {
  bool needed = false;
  bool revisit = false;
  uint8_t form = 0;
  uint32_t size = 1;  // nodes of the subtree
  std::vector<uint32_t> children;
  std::vector<uint32_t> checks;  // indices of prepared checks
};

// Sources that lead to a guard or a gathered object, and their children.
std::vector<Layout> needed_sources(const GuardBuilder& builder) {
  std::vector<Layout> layouts(builder.size());
  for (const GuardRequest& request : builder.requests()) {
    layouts[request.source->id].needed = true;
    if (request.other) layouts[request.other->id].needed = true;
  }
  for (const Source* source : builder.gathered()) layouts[source->id].needed = true;
  for (size_t id = builder.size(); id-- > 0;) {
    if (!layouts[id].needed) continue;
    const Source& source = builder.source(id);
    if (!source.parent) continue;
    Layout& parent = layouts[source.parent->id];
    parent.needed = true;
    parent.children.push_back(static_cast<uint32_t>(id));
    if (source.parent->value) layouts[id].form = step_form(source.access, source.key.get(), seen_at(*source.parent));
  }
  for (Layout& layout : layouts) std::reverse(layout.children.begin(), layout.children.end());
  return layouts;
}

// Puts the children into their order: [revisited versioned | other versioned | others]; gives the two counts.
std::pair<uint32_t, uint32_t> order_children(const GuardBuilder& builder, const std::vector<Layout>& layouts,
                                             std::vector<uint32_t>& children) {
  // A value is a dict or a class, not both: the first versioned child decides.
  Access group = Access::Local;
  for (uint32_t child : children) {
    if (!is_versioned_access(builder.source(child).access)) continue;
    group = builder.source(child).access;
    break;
  }
  if (!is_versioned_access(group)) return {0, 0};
  auto others = std::stable_partition(children.begin(), children.end(),
                                      [&](uint32_t child) { return builder.source(child).access == group; });
  auto unrevisited =
      std::stable_partition(children.begin(), others, [&](uint32_t child) { return layouts[child].revisit; });
  return {static_cast<uint32_t>(unrevisited - children.begin()), static_cast<uint32_t>(others - children.begin())};
}

}  // namespace

GuardProgram::GuardProgram(GuardBuilder& builder) {
  compile(builder);
  torch_state_.emplace(TorchState::now());
}

void GuardProgram::compile(GuardBuilder& builder) {
  std::vector<Layout> layouts = needed_sources(builder);

  std::vector<Check> prepared;
  std::vector<std::pair<uint32_t, int32_t>> absence_origins(builder.size());
  for (const GuardRequest& request : builder.requests()) {
    Source& source = *request.source;
    if (request.other) continue;
    if (request.kind == GuardKind::Missing) {
      absence_origins[source.id] = {request.origin, request.line};
      ++absences_;
      continue;
    }
    Check check{request.kind};
    check.origin = request.origin;
    check.line = request.line;
    if (!prepare_check(check, seen_at(source))) {
      if (impossible_.empty())
        impossible_ = source.to_text() + ": no guard of kind " + guard_name(request.kind) + " fits " +
                      object_text(source.value.get());
      continue;
    }
    layouts[source.id].checks.push_back(static_cast<uint32_t>(prepared.size()));
    prepared.push_back(std::move(check));
  }

  // Children have higher numbers than their parents.
  for (size_t id = builder.size(); id-- > 0;) {
    Layout& layout = layouts[id];
    if (!layout.needed) continue;
    const Source& source = builder.source(id);
    std::stable_sort(layout.checks.begin(), layout.checks.end(), [&](uint32_t a, uint32_t b) {
      return static_cast<int>(stability(prepared[a])) < static_cast<int>(stability(prepared[b]));
    });
    layout.revisit |= source.slot >= 0;
    if (!layout.checks.empty()) layout.revisit |= stability(prepared[layout.checks.back()]) != Stability::Stable;
    if (!source.parent) continue;
    Layout& parent = layouts[source.parent->id];
    parent.size += layout.size;
    parent.revisit |= layout.revisit || !is_stable(source.access, layout.form);
  }

  std::vector<uint32_t> root_ids;
  for (uint32_t id = 0; id < builder.size(); ++id)
    if (layouts[id].needed && !builder.source(id).parent) root_ids.push_back(id);
  // Small trees first: plain arguments are cheap to check and the likeliest to change.
  std::stable_sort(root_ids.begin(), root_ids.end(), [&](uint32_t a, uint32_t b) {
    auto rank = [&](uint32_t id) {
      return std::pair(builder.source(id).access == Access::Pinned ? 1 : 0, layouts[id].size);
    };
    return rank(a) < rank(b);
  });

  std::vector<uint32_t> node_of(builder.size(), kNoParent);
  std::vector<uint32_t> source_of;
  size_t needed = 0;
  for (const Layout& layout : layouts) needed += layout.needed;
  nodes_.reserve(needed);
  checks_.reserve(prepared.size());
  source_of.reserve(needed);
  auto place = [&](uint32_t id, uint32_t parent) {
    Source& source = builder.source(id);
    const auto index = static_cast<uint32_t>(nodes_.size());
    node_of[id] = index;
    source_of.push_back(id);
    Node& node = nodes_.emplace_back();
    node.access = source.access;
    node.absent = source.absent;
    node.revisit = layouts[id].revisit;
    node.parent = parent;
    node.step.key = source.key.get();
    node.step.hash = source.hash;
    node.step.index = source.index;
    node.step.form = layouts[id].form;
    node.slot = source.slot;
    std::tie(node.origin, node.line) = absence_origins[id];
    if (source.key) keys_.push_back(source.key);
    if (source.text) {
      text_of_.emplace_back(index, static_cast<uint32_t>(texts_.size()));
      texts_.push_back(*source.text);
    }
  };
  // Depth first, the children of one node side by side.
  std::vector<uint32_t> open;
  for (uint32_t id : root_ids) {
    roots_.push_back(static_cast<uint32_t>(nodes_.size()));
    place(id, kNoParent);
  }
  for (size_t i = roots_.size(); i-- > 0;) open.push_back(roots_[i]);
  while (!open.empty()) {
    const uint32_t index = open.back();
    open.pop_back();
    Layout& layout = layouts[source_of[index]];
    auto [revisited, versioned] = order_children(builder, layouts, layout.children);
    Node& node = nodes_[index];
    node.revisited_children = revisited;
    node.versioned_children = versioned;
    node.children = static_cast<uint32_t>(layout.children.size());
    node.first_child = static_cast<uint32_t>(nodes_.size());
    node.first_check = static_cast<uint32_t>(checks_.size());
    node.checks = static_cast<uint16_t>(layout.checks.size());
    for (uint32_t check : layout.checks) {
      const Stability when = stability(prepared[check]);
      node.stable_checks += when == Stability::Stable;
      node.versioned_checks += when == Stability::Versioned;
      checks_.push_back(std::move(prepared[check]));
    }
    for (uint32_t child : layout.children) place(child, index);
    for (uint32_t i = nodes_[index].children; i-- > 0;) open.push_back(nodes_[index].first_child + i);
  }

  for (const GuardRequest& request : builder.requests())
    if (request.other)
      relations_.push_back({node_of[request.source->id], node_of[request.other->id], request.kind == GuardKind::SameAs,
                            request.origin, request.line});
  distinct_ = std::move(builder.distinct);
  origins_ = std::move(builder.origins());
  slots_.resize(builder.gathered().size());
  own_slots_.resize(slots_.size());
  for (const std::vector<uint32_t>& group : distinct_)
    distinct_scratch_.reserve(std::max(distinct_scratch_.capacity(), group.size()));
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
