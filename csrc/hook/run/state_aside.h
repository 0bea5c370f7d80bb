// The counters, records and remarks of all captures, put aside while one call is looked at (`explain`): what it leaves
// in them is dropped, with the entries of its configuration.
#pragma once
#include <deque>
#include <map>
#include <string>
#include <unordered_map>

#include "cache/code_cache.h"
#include "hook/runtime.h"

namespace minidynamo {

class StateAside {
 public:
  // Counters and records are empty from now on.
  explicit StateAside(PyObject* config);
  ~StateAside() { end(); }
  StateAside(const StateAside&) = delete;
  // They are what they were. The second call does nothing.
  void end() noexcept;

 private:
  struct Remarks {
    CodeCache::Told told;
    CodeCache::Calls calls;
    uint64_t doubt = 0;
  };
  ConfigId config_;
  bool ended_ = false;
  Statistics statistics_;
  CacheStatistics cache_statistics_;
  std::deque<Uncaptured> uncaptured_;
  std::deque<CaptureRecord> captures_;
  std::map<std::string, long> break_counts_;
  long compiled_functions_;
  std::vector<Ref> codes_;  // that had a cache; owned, so that their addresses name them
  std::unordered_map<PyObject*, Remarks> remarks_;
};

}  // namespace minidynamo
