#include "hook/run/find_entry.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "emit/resume.h"
#include "hook/capture/capture.h"
#include "hook/capture/capture_history.h"
#include "hook/capture/dynamic_numbers.h"
#include "hook/capture/phases.h"
#include "hook/capture/report.h"
#include "hook/capture/turn.h"
#include "hook/config_id.h"
#include "hook/intercept/policy.h"
#include "hook/intercept/stance.h"
#include "hook/run/profiler_switch.h"
#include "hook/run/timed_call.h"
#include "hook/settings.h"
#include "python/process/interruptions.h"
#include "python/process/out_of_memory.h"
#include "tensor/process/profiler_region.h"

namespace minidynamo {
namespace {

[[gnu::noinline]] bool find_cached_profiled(CodeCache* cache, const FrameView& view, PyObject* config,
                                            FoundEntry& found) {
  const ProfilerRegion region("minidynamo guards " + function_id(cache->code()) + " " + display_name(cache->code()));
  found.entry = cache->find_hit(reinterpret_cast<ConfigId>(config), view, found.room, found.slots);
  return static_cast<bool>(found.entry);
}

}  // namespace

bool find_cached(CodeCache* cache, const FrameView& view, PyObject* config, FoundEntry& found) {
  if (profiler_is_on()) [[unlikely]]
    return find_cached_profiled(cache, view, config, found);
  found.entry = cache->find_hit(reinterpret_cast<ConfigId>(config), view, found.room, found.slots);
  return static_cast<bool>(found.entry);
}

namespace {

// The limits that the configuration asks for.
void apply_settings(PyObject* config) {
  const Ref limit = setting(config, "recompile_limit");
  if (limit && PyLong_Check(limit.get())) CacheRegistry::instance().recompile_limit = PyLong_AsSize_t(limit.get());
  const Ref limits = setting(config, "trace_limits");
  if (limits && PyTuple_Check(limits.get()) && PyTuple_GET_SIZE(limits.get()) == 3)
    runtime().limits = {PyLong_AsLong(PyTuple_GET_ITEM(limits.get(), 0)),
                        PyLong_AsSize_t(PyTuple_GET_ITEM(limits.get(), 1)),
                        static_cast<int>(PyLong_AsLong(PyTuple_GET_ITEM(limits.get(), 2))), runtime().stress.on};
  clear_error();
}

FrameAnswer no_entry() noexcept { return PyErr_Occurred() ? FrameAnswer::Raise : FrameAnswer::Plain; }

// True if each of several entries fails on a number alone (an index, a count of steps, a loss): the next entry would
// serve as little.
bool changes_by_a_number(const CodeCache& cache, ConfigId id, const FrameView& view) {
  constexpr size_t kSeveral = 2;
  size_t refused = 0;
  for (const std::shared_ptr<CacheEntry>& entry : cache.entries()) {
    if (entry->config != id) continue;
    const GuardTree::Refusal refusal = entry->guards.refusal(view);
    if (refusal.changed_number.empty() && !refusal.is_equality_of_sizes) return false;
    ++refused;
  }
  return refused >= kSeveral;
}

// Under global capture the program has not asked for this frame: it gets no more entries, and only the log says so.
bool leave_to_dynamic_float(CodeCache& cache, const FrameView& view, PyObject* config) {
  const ConfigId id = reinterpret_cast<ConfigId>(config);
  if (!runtime().global_config.is(config) || thread_mode().target == cache.code() || asks_for_fullgraph(config) ||
      !changes_by_a_number(cache, id, view))
    return false;
  static constexpr const char* kWhy = "a number that is another one at each call is part of what was captured";
  cache.told.limit = true;
  report_passing(cache.code(), config, Break{BreakReason::RecompileLimit, kWhy});
  cache.skip({id, "recompile-limit", kWhy});
  return true;
}

// For an entry beyond the limit, by the one that was asked least lately. Its end may run code: what a check gathers is
// gathered after it.
void make_room(CodeCache& cache, ConfigId id) {
  const CacheEntry* last = nullptr;
  for (const std::shared_ptr<CacheEntry>& entry : cache.entries())
    if (entry->config == id) last = entry.get();
  if (last) cache.remove(last);
}

// One thread captures it, while others wait for what comes of that.
FrameAnswer capture_in_turn(CodeCache& cache, const FrameView& view, PyObject* config, FoundEntry& found,
                            const MemoryWatch& memory) {
  const uint64_t seen = cache.changes();
  apply_settings(config);
  const Deadline deadline = capture_deadline(config);
  const ConfigId id = config_id(config);
  CaptureTurn turn(cache.code(), id);
  bool is_last = false;
  for (bool is_news = cache.changes() != seen;; is_news = true) {
    // Another thread may have captured it, or found that it cannot be, meanwhile.
    if (is_news && find_cached(&cache, view, config, found)) return FrameAnswer::Entry;
    is_last = cache.entry_count(id) >= CacheRegistry::instance().recompile_limit && !cache.skipped(id) &&
              open_at_last(cache, id, config, view);
    const LookupResult missed = is_last ? LookupResult() : cache.miss(id);
    if (missed.outcome == LookupResult::Outcome::Uncaptured) {
      report_skipped(cache.code(), config, *missed.skip, view);
      suspect_slowdown(cache);
      return no_entry();
    }
    const Turn taken = [&] {
      InterruptionsLetIn while_waiting;
      return turn.take(deadline);
    }();
    if (taken == Turn::Mine || (taken == Turn::Never && asks_for_fullgraph(config))) break;
    if (taken != Turn::Over) return no_entry();
  }
  // If an allocation failed, neither the guards' answer nor a setting can be trusted.
  if (memory.failed()) return no_entry();
  if (leave_to_dynamic_float(cache, view, config)) return no_entry();
  std::optional<OpenCapture> history(std::in_place, cache, config, view);
  if (cache.entry_count(id)) {
    report_recompile(cache.code(), config, cache, view);
    if (forbids_recompiles(config) && !cache.is_captured_again) {
      raise_recompile(cache, config, view, "setting");
      return FrameAnswer::Raise;
    }
  }
  found.entry = capture(cache.code(), view, config);
  if (!found.entry) suspect_slowdown(cache);
  if (!found.entry) return no_entry();
  found.entry->config = id;
  if (is_last) make_room(cache, id);
  found.slots = found.room.reserve(found.entry->guards.gathered());
  const auto begun = std::chrono::steady_clock::now();
  if (!found.entry->guards.check(view, found.slots)) return no_entry();
  // The quicker of the two checks that have been made: one alone may have met a switch of threads.
  found.entry->guard_seconds = std::min(found.entry->guard_seconds, seconds_since(begun));
  history->ends_with(*found.entry);
  try_to([&] { cache.add(found.entry); });  // or it is used this once
  if (found.entry->is_broken) suspect_slowdown(cache);
  history.reset();  // which runs Python code, and with it perhaps other threads
  // The check gathers borrowed references: no code may run between it and their use.
  found.slots = found.room.reserve(found.entry->guards.gathered());
  return found.entry->guards.check(view, found.slots) ? FrameAnswer::Entry : no_entry();
}

FrameAnswer leave_to_its_frame(CodeCache& cache, PyObject* config) {
  static constexpr const char* kWhy = "the function holds an object with a finalizer, which ends in it";
  if (std::exchange(cache.told.passing, kWhy) == kWhy) return FrameAnswer::Plain;
  const InterruptionsHeld until_it_is_told;
  report_passing(cache.code(), config, Break{BreakReason::Finalizer, kWhy});
  return no_entry();
}

// The stance's answer for a frame that no entry fits; nullopt: capture it. A resume function belongs to a capture that
// was allowed.
std::optional<FrameAnswer> answer_of_stance(CodeCache& cache, const FrameView& view, PyObject* config,
                                            FoundEntry& found, const MemoryWatch& memory) {
  const Stance stance = current_stance();
  const bool is_delayed = (stance == Stance::EagerThenCompile || stance == Stance::AotEagerThenCompile) &&
                          !find_resume_function(cache.code()) && !std::exchange(cache.told.first_call, true);
  if (stance == Stance::EagerOnRecompile || CachedOnly::is_on()) return no_entry();
  if (stance == Stance::FailOnRecompile) {
    raise_recompile(cache, config, view, "stance");
    return FrameAnswer::Raise;
  }
  if (!is_delayed) return std::nullopt;
  if (stance == Stance::EagerThenCompile) return no_entry();
  const Ref for_first_call = config_with_aot_eager(config);
  if (!for_first_call) return FrameAnswer::Raise;
  return capture_in_turn(cache, view, for_first_call.get(), found, memory);
}

}  // namespace

FrameAnswer find_entry(PyCodeObject* code, const FrameView& view, PyObject* config, FoundEntry& found) {
  const MemoryWatch memory;
  CodeCache* cache = CodeCache::get(code);
  if (!cache) return no_entry();
  if (holds_last_of_finalized(code, view)) return leave_to_its_frame(*cache, config);
  if (find_cached(cache, view, config, found)) return FrameAnswer::Entry;
  const char* mode = capture_blocker();
  if (PyErr_Occurred()) return FrameAnswer::Raise;  // from a signal handler that ran meanwhile
  if (mode && cache->told.passing == mode) return FrameAnswer::Apart;
  // Fast path for skipped frames: everything below costs more than running a small function.
  const ConfigId id = reinterpret_cast<ConfigId>(config);
  if (const SkipMark* mark = mode ? nullptr : cache->skipped(id);
      mark && !asks_for_fullgraph(config) && !must_tell_of_limit(config, *mark)) {
    cache->miss(id);
    return FrameAnswer::Plain;
  }
  const InterruptionsHeld until_the_end;  // the code below runs Python code of ours, and clears its errors
  const Ref its_owner = Ref::borrow(as_object(code));
  if (!mode && !cache->is_captured_again && (current_stance() != Stance::Default || CachedOnly::is_on()))
    if (const auto answer = answer_of_stance(*cache, view, config, found, memory)) return *answer;
  if (!mode) return capture_in_turn(*cache, view, config, found, memory);
  cache->told.passing = mode;
  report_passing(code, config, Break{BreakReason::ActiveMode, mode});
  return FrameAnswer::Apart;
}

}  // namespace minidynamo
