// The pipeline: a frame that no cache entry fits is traced, compiled by the backend, and becomes a new entry.
#pragma once
#include "cache/code_cache.h"
#include "hook/runtime.h"

namespace minidynamo {

// `view` is the frame as it was called. Null: run the frame as it was, or, if a Python error is set, that is the
// frame's result (Unsupported under fullgraph, BackendCompilerFailed).
std::shared_ptr<CacheEntry> capture(PyCodeObject* code, const FrameView& view, PyObject* config);

// The id under which entries of a configuration are kept; they go when it dies.
ConfigId config_id(PyObject* config);
inline PyObject* config_of(ConfigId id) noexcept {
  return reinterpret_cast<PyObject*>(id);
}  // borrowed; while it lives

struct FoundEntry {
  std::shared_ptr<CacheEntry> entry;
  PyObject** slots = nullptr;  // what its guards gathered
  GatheredSlots room;
};
// The entry in the cache that fits the frame, if there is one.
bool find_cached(CodeCache* cache, const FrameView& view, PyObject* config, FoundEntry& found);

// What a frame is answered with.
enum class FrameAnswer : uint8_t {
  Entry,  // one that fits it
  Plain,  // it runs as it was
  Apart,  // it runs as it was, and nothing that it calls is captured: a mode is active that a capture would disturb
  Raise,  // a Python error is set
  Throw,  // a Python error is set: the frame runs uncaptured and raises the error at its first instruction
};
// The entry that fits the frame, captured if there is none.
FrameAnswer find_entry(PyCodeObject* code, const FrameView& view, PyObject* config, FoundEntry& found);

// Drops all entries, records and counters.
void reset_runtime();

}  // namespace minidynamo
