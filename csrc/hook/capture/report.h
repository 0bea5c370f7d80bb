// Reports captures: the record of graph breaks and of frames that ran uncaptured, the errors of fullgraph, the log.
// Texts are made in Python (minidynamo/_records/breaks.py).
#pragma once
#include "cache/code_cache.h"
#include "hook/runtime.h"
#include "world/proxies/symbols.h"

namespace minidynamo {

bool asks_for_fullgraph(PyObject* config);
bool stops_where_slower(PyObject* config);  // config.stop_where_slower
bool forbids_recompiles(PyObject* config);  // config.error_on_recompile
// True if a mark is of the recompile limit, and the program wants an error there.
bool must_tell_of_limit(PyObject* config, const SkipMark& mark);
// Sets RecompileError: `cause` is "stance", "setting" (error_on_recompile) or "limit".
void raise_recompile(CodeCache& cache, PyObject* config, const FrameView& view, const char* cause);

// The frame is split at a place: recorded and logged, no more.
void report_graph_break(PyCodeObject* code, PyObject* config, const Break& why);
// After that: the rest of a loop runs uncaptured.
void report_loop(PyCodeObject* code, PyObject* config, const Break& why);
// The frame runs uncaptured, now and at later calls that no entry fits.
Uncaptured report_uncaptured(PyCodeObject* code, PyObject* config, const Break& why);
// Where a break is an error: recorded and logged, no more.
Uncaptured report_forbidden(PyCodeObject* code, PyObject* config, const Break& why);
// A wrapper of the function captures it no more, since that does not pay.
void report_stopped(PyCodeObject* code, PyObject* config, const Break& why);
// The frame runs uncaptured this time.
void report_passing(PyCodeObject* code, PyObject* config, const Break& why);
// A frame that an earlier report says to leave alone. Sets Unsupported under fullgraph. The first frame beyond the
// recompile limit is said to the user, with the guards that refused it.
void report_skipped(PyCodeObject* code, PyObject* config, SkipMark mark, const FrameView& view);
// Sets minidynamo.exceptions.Unsupported for what was reported.
void raise_unsupported(const Uncaptured& why);
// A record with the names of minidynamo.debug.Uncaptured; null with a Python error set on failure.
Ref to_dict(const Uncaptured& record);

void report_entry(PyCodeObject* code, PyObject* config, const CacheEntry& entry);
// Raises DynamicSizeError: a size cannot be as the user has marked it.
void raise_dynamic_size(const std::string& mark);
// In the log `dynamic`: what a capture has left open, and what it asked of it, line by line.
void report_open(PyCodeObject* code, PyObject* config, const Symbols& symbols);
// In the log `dynamic`: numbers that were left open are taken as they are after all.
void report_specialized(PyCodeObject* code, PyObject* config, const DynamicSizes& open, const std::string& why);
// The backend has refused a graph, and another form of it is tried.
void report_other_form(PyCodeObject* code, PyObject* config, const std::string& error);
void report_recompile(PyCodeObject* code, PyObject* config, CodeCache& cache, const FrameView& view);

}  // namespace minidynamo
