// Lookup in the order of recent hits, recompile limits and reset.
#include "cache/code_cache.h"

#include <algorithm>
#include <cstddef>
#include <new>

#include "python/error_set_aside.h"
#include "python/process/out_of_memory.h"

namespace minidynamo {
namespace {

constexpr const char* kRecompileLimit = "recompile-limit";

template <class Marks>
auto mark_of(Marks& marks, ConfigId config) noexcept {
  return std::find_if(marks.begin(), marks.end(), [config](const SkipMark& mark) { return mark.config == config; });
}

thread_local int burials_paused = 0;

}  // namespace

DestructionDeferred::DestructionDeferred() noexcept { ++burials_paused; }

DestructionDeferred::~DestructionDeferred() {
  --burials_paused;
  CacheRegistry& registry = CacheRegistry::instance();
  if (registry.retired_) registry.free_retired();
}

CodeCache* CodeCache::find(PyCodeObject* code) noexcept {
  return static_cast<CodeCache*>(CacheRegistry::slot().get(code));
}

CodeCache* CodeCache::get(PyCodeObject* code) {
  if (CodeCache* cache = find(code)) return cache;
  auto* cache = new CodeCache(code);
  if (!try_to([&] { CacheRegistry::instance().caches_.insert(cache); })) {
    delete cache;
    throw_out_of_memory();
  }
  if (CacheRegistry::slot().set(code, cache)) return cache;
  CacheRegistry::free_cache(cache);
  return nullptr;
}

CodeCache::~CodeCache() {
  CacheRegistry& registry = CacheRegistry::instance();
  for (std::shared_ptr<CacheEntry>& entry : entries_) registry.retire(std::move(entry));
  entries_.clear();
  registry.free_retired();
}

std::shared_ptr<CacheEntry> CodeCache::find_hit(ConfigId config, const FrameView& frame, GatheredSlots& room,
                                                PyObject**& slots) {
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i]->config != config) continue;
    // A strong hold: should a check let another thread run, that thread may reset the cache.
    std::shared_ptr<CacheEntry> entry = entries_[i];
    slots = room.reserve(entry->guards.gathered());
    if (!entry->guards.check(frame, slots)) continue;
    ++entry->hits;
    ++CacheRegistry::instance().statistics.hits;
    if (i > 0 && i < entries_.size() && entries_[i] == entry)
      std::rotate(entries_.begin(), entries_.begin() + static_cast<ptrdiff_t>(i),
                  entries_.begin() + static_cast<ptrdiff_t>(i) + 1);
    return entry;
  }
  return nullptr;
}

LookupResult CodeCache::lookup(ConfigId config, const FrameView& frame, GatheredSlots& room) {
  PyObject** gathered;
  if (std::shared_ptr<CacheEntry> entry = find_hit(config, frame, room, gathered))
    return {LookupResult::Outcome::Hit, std::move(entry), gathered, nullptr};
  return miss(config);
}

LookupResult CodeCache::miss(ConfigId config) {
  CacheRegistry& registry = CacheRegistry::instance();
  const size_t asked = entry_count(config);
  const SkipMark* mark = skipped(config);
  if (!mark && asked >= registry.recompile_limit) {
    skip({config, kRecompileLimit,
          "captured " + std::to_string(asked) + " times already, the recompile limit; no entry's guards hold here", 0});
    mark = skipped(config);
  }
  ++(mark ? calls.uncaptured : calls.captured);
  if (!mark) {
    ++registry.statistics.misses;
    return {};
  }
  ++registry.statistics.uncaptured;
  if (mark->reason == kRecompileLimit) ++registry.statistics.refused_by_limit;
  return {LookupResult::Outcome::Uncaptured, nullptr, nullptr, mark};
}

const std::vector<std::string>& CodeCache::explain_miss(ConfigId config, const FrameView& frame) {
  std::vector<std::string> reasons;
  for (const std::shared_ptr<CacheEntry>& entry : entries())
    if (entry->config == config) reasons.push_back(entry->guards.explain_failure(frame));
  last_miss_ = std::move(reasons);
  return last_miss_;
}

bool CodeCache::add(std::shared_ptr<CacheEntry> entry) {
  CacheRegistry& registry = CacheRegistry::instance();
  if (entry_count(entry->config) >= registry.recompile_limit) return false;
  // All that needs memory comes first.
  entries_.reserve(entries_.size() + 1);
  entry->guards.when_object_dies([added = entry.get()] {
    if (added->cache) added->cache->remove(added);
  });
  ++registry.statistics.entries_added;
  registry.statistics.guards_added += entry->guards.guard_count();
  entry->cache = this;
  is_captured_again = false;
  entries_.insert(entries_.begin(), std::move(entry));
  ++changes_;
  return true;
}

void CodeCache::remove(const CacheEntry* entry) noexcept {
  auto found = std::find_if(entries_.begin(), entries_.end(),
                            [entry](const std::shared_ptr<CacheEntry>& held) { return held.get() == entry; });
  if (found == entries_.end()) return;
  ++changes_;
  calls.of_former_entries += entry->hits;
  CacheRegistry& registry = CacheRegistry::instance();
  registry.retire(std::move(*found));
  entries_.erase(found);
  registry.free_retired();
}

void CodeCache::skip(SkipMark mark) {
  ++changes_;
  auto found = mark_of(skips_, mark.config);
  if (found != skips_.end())
    *found = std::move(mark);
  else
    skips_.push_back(std::move(mark));
}

const SkipMark* CodeCache::skipped(ConfigId config) const noexcept {
  auto found = mark_of(skips_, config);
  return found == skips_.end() ? nullptr : &*found;
}

size_t CodeCache::entry_count(ConfigId config) const noexcept {
  return static_cast<size_t>(
      std::count_if(entries_.begin(), entries_.end(),
                    [config](const std::shared_ptr<CacheEntry>& entry) { return entry->config == config; }));
}

CacheRegistry& CacheRegistry::instance() noexcept {
  // Never destroyed: code objects die, and free their caches, as late as in the interpreter's finalization.
  alignas(CacheRegistry) static std::byte room[sizeof(CacheRegistry)];
  static CacheRegistry* registry = new (room) CacheRegistry;
  return *registry;
}

CodeSlot& CacheRegistry::slot() noexcept {
  static constinit CodeSlot slot(free_cache);
  return slot;
}

void CacheRegistry::free_cache(void* data) noexcept {
  auto* cache = static_cast<CodeCache*>(data);
  if (!cache) return;
  instance().caches_.erase(cache);
  delete cache;
}

void CacheRegistry::reset() noexcept {
  statistics = {};
  ++resets;
  // Emptied first, destroyed at the end: destruction may free code objects, and with them caches.
  for (CodeCache* cache : caches_) {
    for (std::shared_ptr<CacheEntry>& entry : cache->entries_) retire(std::move(entry));
    cache->entries_.clear();
    cache->skips_.clear();
    cache->last_miss_.clear();
    cache->told = {};
    cache->calls = {};
    cache->doubt = 0;
    cache->open_numbers.clear();
    ++cache->changes_;
  }
  free_retired();
}

void CacheRegistry::forget(ConfigId config) noexcept {
  for (CodeCache* cache : caches_) {
    retire_if(*cache, [config](const CacheEntry& entry) { return entry.config == config; });
    std::erase_if(cache->skips_, [config](const SkipMark& mark) { return mark.config == config; });
    cache->open_numbers.erase(config);
    ++cache->changes_;
  }
  free_retired();
}

void CacheRegistry::capture_again(PyObject* graph_module) noexcept {
  for (CodeCache* cache : caches_) {
    retire_if(*cache, [&](const CacheEntry& entry) {
      if (!entry.graph_module.is(graph_module)) return false;
      cache->is_captured_again = true;
      ++cache->changes_;
      cache->calls.of_former_entries += entry.hits;
      return true;
    });
  }
  free_retired();
}

template <class Predicate>
void CacheRegistry::retire_if(CodeCache& cache, Predicate is_over) noexcept {
  for (std::shared_ptr<CacheEntry>& entry : cache.entries_)
    if (is_over(*entry)) retire(std::move(entry));
  std::erase(cache.entries_, nullptr);
}

void CacheRegistry::retire(std::shared_ptr<CacheEntry> dead) noexcept {
  dead->cache = nullptr;
  dead->next_dead = std::move(retired_);
  retired_ = std::move(dead);
}

void CacheRegistry::free_retired() noexcept {
  if (burials_paused) return;
  // In the middle of something, perhaps of raising an error.
  const ErrorSetAside error;
  while (std::shared_ptr<CacheEntry> next = std::move(retired_)) retired_ = std::move(next->next_dead);
}

size_t CacheRegistry::live_entries() const noexcept {
  size_t count = 0;
  for (const CodeCache* cache : caches_) count += cache->entries_.size();
  return count;
}

std::vector<Ref> CacheRegistry::codes() const {
  std::vector<Ref> codes;
  for (const CodeCache* cache : caches_) codes.push_back(Ref::borrow(as_object(cache->code_)));
  return codes;
}

}  // namespace minidynamo
