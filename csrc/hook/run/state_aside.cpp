#include "hook/run/state_aside.h"

#include "python/process/out_of_memory.h"

namespace minidynamo {

StateAside::StateAside(PyObject* config) : config_(reinterpret_cast<ConfigId>(config)) {
  codes_ = CacheRegistry::instance().codes();
  for (const Ref& code : codes_)
    if (const CodeCache* cache = CodeCache::find(as_code(code.get())))
      remarks_[code.get()] = {cache->told, cache->calls, cache->doubt};
  Runtime& state = runtime();
  statistics_ = std::exchange(state.statistics, {});
  cache_statistics_ = std::exchange(CacheRegistry::instance().statistics, {});
  uncaptured_ = std::exchange(state.uncaptured, {});
  captures_ = std::exchange(state.captures, {});
  break_counts_ = std::exchange(state.break_counts, {});
  compiled_functions_ = state.compiled_functions;
}

void StateAside::end() noexcept {
  if (std::exchange(ended_, true)) return;
  CacheRegistry::instance().forget(config_);
  try_to([&] {
    for (const Ref& code : CacheRegistry::instance().codes()) {
      CodeCache* cache = CodeCache::find(as_code(code.get()));
      const auto known = remarks_.find(code.get());
      const Remarks before = known == remarks_.end() ? Remarks() : known->second;
      if (!cache) continue;
      cache->told = before.told;
      cache->calls = before.calls;
      cache->doubt = before.doubt;
    }
  });
  Runtime& state = runtime();
  state.statistics = statistics_;
  CacheRegistry::instance().statistics = cache_statistics_;
  std::swap(state.uncaptured, uncaptured_);  // those of the call are let go of with this object
  std::swap(state.captures, captures_);
  std::swap(state.break_counts, break_counts_);
  state.compiled_functions = compiled_functions_;
}

}  // namespace minidynamo
