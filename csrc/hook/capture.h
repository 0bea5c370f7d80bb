// The pipeline: a frame that no cache entry fits is traced, compiled by the backend, and becomes a new entry.
#pragma once
#include "cache/code_cache.h"
#include "hook/runtime.h"

namespace minidynamo {

// `view` is the frame as it was called. Null: run the frame as it was, or, if a Python error is set, that is the
// frame's result (Unsupported under fullgraph, BackendCompilerFailed).
std::shared_ptr<CacheEntry> capture(PyCodeObject* code, const FrameView& view, PyObject* config);

// The id under which entries of a configuration are kept; the configuration lives until the next reset.
ConfigId config_id(PyObject* config);

// Looks for an entry that fits and runs it. `captured` false: none does, and nothing ran.
Ref run_cached(PyCodeObject* code, const FrameView& view, PyObject* config, bool& captured);
// The same, capturing the frame if no entry fits. `captured` false without a Python error: run the frame as it was.
Ref run_captured(PyCodeObject* code, const FrameView& view, PyObject* config, bool& captured);

// Drops all entries, records and counters, and takes the compiled functions out of the modules' globals.
void reset_runtime();

}  // namespace minidynamo
