// How a frame is answered: with a cache entry that fits it, one that is captured now, or by running it eagerly.
#pragma once
#include "cache/code_cache.h"
#include "hook/runtime.h"

namespace minidynamo {

struct FoundEntry {
  std::shared_ptr<CacheEntry> entry;
  PyObject** slots = nullptr;  // the values that its guards gathered
  GatheredSlots room;
};
// The entry in the cache that fits the frame, if there is one.
bool find_cached(CodeCache* cache, const FrameView& view, PyObject* config, FoundEntry& found);

// How a frame runs.
enum class FrameAnswer : uint8_t {
  Entry,  // one that fits it
  Plain,  // it runs uncaptured
  Apart,  // it runs uncaptured, and nothing that it calls is captured: a mode is active that a capture would disturb
  Raise,  // a Python error is set
  Throw,  // a Python error is set: the frame runs uncaptured and raises the error at its first instruction
};
// The entry that fits the frame, captured if there is none.
FrameAnswer find_entry(PyCodeObject* code, const FrameView& view, PyObject* config, FoundEntry& found);

}  // namespace minidynamo
