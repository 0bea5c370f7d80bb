// The pipeline: a frame that no cache entry fits is traced, compiled by the backend, and becomes a new entry.
#pragma once
#include "cache/code_cache.h"
#include "hook/runtime.h"

namespace minidynamo {

// `view` is the frame as it was called. Null: run the frame as it was, or, if a Python error is set, that is the
// frame's result (Unsupported under fullgraph, BackendCompilerFailed).
std::shared_ptr<CacheEntry> capture(PyCodeObject* code, const FrameView& view, PyObject* config);

}  // namespace minidynamo
