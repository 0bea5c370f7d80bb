#include "hook/run/timed_call.h"

#include <chrono>
#include <cstdio>

#include "hook/capture/report.h"
#include "python/process/interruptions.h"
#include "python/process/out_of_memory.h"

namespace minidynamo {
namespace {

// Frames inside would be captured all the same where the hook is there for somebody else.
bool is_alone() noexcept { return !thread_mode().config && !runtime().global_config; }

std::string in_microseconds(double nanoseconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f us", nanoseconds / 1000);
  return text;
}

void tell(CodeCache& cache, PyObject* config, const Trial& trial, uint64_t entries) {
  report_stopped(
      cache.code(), config,
      Break{BreakReason::NotWorthwhile,
            "a call takes " + in_microseconds(trial.captured_median()) + " captured and " +
                in_microseconds(trial.plain_median()) + " uncaptured (medians of " + std::to_string(Trial::kPairs) +
                "); it " + (entries ? "goes on in " + std::to_string(entries) + " parts" : "is not captured whole")});
}

// Follows what has happened to the code object.
void look_at_code(ProfitabilityTrial& wrapper, const CodeCache& cache, PyObject* config) {
  const uint64_t resets = CacheRegistry::instance().resets;
  if (wrapper.resets != resets) wrapper.trial.forget();
  wrapper.resets = resets;
  if (wrapper.doubt == cache.doubt) return;
  wrapper.doubt = cache.doubt;
  wrapper.trial.start_again();
  wrapper.is_wanted = !runtime().stress.on && !asks_for_fullgraph(config) && stops_where_slower(config);
}

}  // namespace

void suspect_slowdown(CodeCache& cache) noexcept {
  static uint64_t last = 0;
  cache.doubt = ++last;
}

PyObject* call_on_trial(ProfitabilityTrial& wrapper, CodeCache& cache, PyObject* config,
                        const std::function<PyObject*()>& captured, const std::function<PyObject*()>& plain) {
  const Ref its_owner = Ref::borrow(as_object(cache.code()));
  look_at_code(wrapper, cache, config);
  Trial& trial = wrapper.trial;
  const Trial::Call call = wrapper.is_wanted && is_alone() ? trial.next() : Trial::Call::Usual;
  if (call == Trial::Call::Stopped) return plain();
  if (call == Trial::Call::Usual) return captured();
  const long frames = runtime().statistics.frames;
  const CacheStatistics& counters = CacheRegistry::instance().statistics;
  const uint64_t hits = counters.hits;
  const auto begin = std::chrono::steady_clock::now();
  PyObject* result = call == Trial::Call::Plain ? plain() : captured();
  const auto took = std::chrono::steady_clock::now() - begin;
  const bool is_as_usual = result && runtime().statistics.frames == frames && counters.hits >= hits;
  if (!is_as_usual) {
    trial.nothing_learnt();
    return result;
  }
  const uint64_t entries = counters.hits - hits;
  if (call == Trial::Call::Captured) wrapper.entries = entries;
  if (!trial.took(call, static_cast<uint64_t>(std::chrono::nanoseconds(took).count()), entries)) return result;
  Ref kept = Ref::steal(result);
  const InterruptionsHeld until_it_is_told;
  tell(cache, config, trial, wrapper.entries);
  clear_error();
  return kept.release();
}

}  // namespace minidynamo
