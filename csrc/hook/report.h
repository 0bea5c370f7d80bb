// What is told about captures: the record of graph breaks and of frames that ran as they were, the errors of fullgraph,
// the log. Texts are made in Python (minidynamo/_breaks.py).
#pragma once
#include "cache/code_cache.h"
#include "hook/runtime.h"

namespace minidynamo {

bool asks_for_fullgraph(PyObject* config);

// The frame is split at a place: recorded and logged, no more.
void report_graph_break(PyCodeObject* code, PyObject* config, const Break& why);
// The frame runs as it was, now and at later calls that no entry fits.
Uncaptured report_uncaptured(PyCodeObject* code, PyObject* config, const Break& why);
// The frame runs as it was this time.
void report_passing(PyCodeObject* code, PyObject* config, const Break& why);
// A frame that an earlier report says to leave alone. Sets Unsupported under fullgraph. The first frame beyond the
// recompile limit is said to the user, with the guards that refused it.
void report_skipped(PyCodeObject* code, PyObject* config, SkipMark mark, const FrameView& view);
// Sets minidynamo.exceptions.Unsupported for what was reported.
void raise_unsupported(const Uncaptured& why);
// A record with the names of minidynamo.debug.Uncaptured; null with a Python error set on failure.
Ref to_dict(const Uncaptured& record);

void report_entry(PyCodeObject* code, PyObject* config, const CacheEntry& entry);
void report_recompile(PyCodeObject* code, PyObject* config, CodeCache& cache, const FrameView& view);

}  // namespace minidynamo
