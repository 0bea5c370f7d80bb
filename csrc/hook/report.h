// What is told about captures: the record of frames that ran as they were, the errors of fullgraph, the log.
#pragma once
#include "cache/code_cache.h"
#include "hook/runtime.h"

namespace minidynamo {

bool asks_for_fullgraph(PyObject* config);

// The frame runs as it was, now and at later calls that no entry fits.
void report_uncaptured(PyCodeObject* code, PyObject* config, const Break& why);
// A frame that an earlier report says to leave alone. Sets Unsupported under fullgraph.
void report_skipped(PyCodeObject* code, PyObject* config, const SkipMark& mark);
// Sets minidynamo.exceptions.Unsupported for what was reported last.
void raise_unsupported();

void report_entry(PyCodeObject* code, PyObject* config, const CacheEntry& entry);
void report_recompile(PyCodeObject* code, PyObject* config, CodeCache& cache, const FrameView& view);

}  // namespace minidynamo
