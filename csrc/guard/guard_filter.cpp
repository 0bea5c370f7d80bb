#include "guard/guard_filter.h"

#include "guard/guard_kinds.h"

namespace minidynamo {
namespace {

// The parts of each source that the tree needs, even where the filter drops their guards.
class Needs {
 public:
  explicit Needs(const GuardBuilder& builder) : sources_(builder.size()) {
    for (const Source* source : builder.gathered()) at(source).is_gathered = true;
    for (const OpenNumber& number : builder.numbers)
      if (number.source) at(number.source).is_related = true;
    for (const ApartRequest& apart : builder.apart)
      for (const Source* source : apart.sources) at(source).is_related = true;
    for (const GuardRequest& request : builder.requests())
      if (request.other) at(request.source).is_related = at(request.other).is_related = true;
  }

  struct OfSource {
    bool is_gathered = false;
    bool is_related = false;  // to other objects, or holds a number that may differ
    bool is_on_the_way = false;
  };
  OfSource& at(const Source* source) { return sources_[source->id]; }

 private:
  std::vector<OfSource> sources_;
};

// True if the guard may be dropped for a source that leads to something else, or is compared with others: one of a
// container's contents. The fetches check whatever they find before they use it, as long as the types are those that
// they were made for.
bool is_of_contents(GuardKind kind) noexcept { return subject_of(kind) == GuardSubject::Contents; }

std::vector<OfferedGuard> offered(const GuardBuilder& builder) {
  std::vector<OfferedGuard> guards;
  for (const GuardRequest& request : builder.requests()) {
    if (request.other) continue;
    const bool is_absent = request.kind == GuardKind::Missing;
    OfferedGuard& guard = guards.emplace_back(
        OfferedGuard{request.source->to_text(), is_absent ? "Missing" : guard_name(request.kind), {}, is_absent});
    for (const Source* source = is_absent ? request.source->parent : request.source; source; source = source->parent)
      if (source->value) guard.owners.push_back(source->value.get());
  }
  return guards;
}

}  // namespace

void filter_guards(GuardBuilder& builder, const GuardFilter& filter) {
  const std::vector<bool> wanted = filter(offered(builder));
  std::vector<std::vector<GuardRequest*>> of_source(builder.size());
  std::vector<bool> is_wanted(builder.requests().size(), true);
  size_t position = 0;
  for (size_t i = 0; i < builder.requests().size(); ++i) {
    GuardRequest& request = builder.requests()[i];
    if (request.other) continue;
    is_wanted[i] = position >= wanted.size() || wanted[position];
    ++position;
    of_source[request.source->id].push_back(&request);
  }
  Needs needs(builder);
  std::vector<bool> stays(builder.requests().size(), true);
  // An inner source has the higher number.
  for (size_t id = builder.size(); id-- > 0;) {
    Source& source = builder.source(id);
    Needs::OfSource& need = needs.at(&source);
    const bool is_needed = need.is_gathered || need.is_related || need.is_on_the_way;
    bool is_reached = is_needed;
    for (GuardRequest* request : of_source[id]) {
      const size_t at = static_cast<size_t>(request - builder.requests().data());
      if (is_wanted[at]) {
        is_reached = true;
      } else if (request->kind == GuardKind::Tensor && need.is_gathered && !need.is_related && !need.is_on_the_way) {
        request->kind = GuardKind::ExactType;  // the graph is given a tensor, whatever it looks like
      } else {
        stays[at] = is_needed && !is_of_contents(request->kind);
      }
    }
    if (is_reached && source.parent) needs.at(source.parent).is_on_the_way = true;
  }
  builder.keep(stays);
}

}  // namespace minidynamo
