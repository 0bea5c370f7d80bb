// Which numbers a capture leaves open, and what its backend made of them.
//
// The first capture of a function takes sizes and ints as they are. Where a call is refused by an entry on account of
// numbers alone, those that differ are open from then on, and the next capture is good for all of their values.
#pragma once
#include "cache/code_cache.h"
#include "plan/exit.h"
#include "world/proxies/open_numbers.h"
#include "world/proxies/symbols.h"
#include "world/state/tracer.h"

namespace minidynamo {

// The numbers that are to be dynamic by the configuration (`dynamic`) and by earlier entries, for a frame that none of
// these fits.
DynamicSizes numbers_to_open(CodeCache& cache, ConfigId id, PyObject* config, const FrameView& frame);

// The floats that are to be inputs of the graph (TraceLimits::dynamic_floats).
std::vector<std::string> open_floats(const DynamicSizes& open);

// A number that captures had to specialize, twice, is not made dynamic again.
void close_specialized(CodeCache& cache, ConfigId id, const Tracer& tracer);

// True if a number that differs from earlier calls is specialized because captures have needed its value: once, where
// there are as many entries as there may be, it is made dynamic all the same.
bool open_at_last(CodeCache& cache, ConfigId id, PyObject* config, const FrameView& frame);

// An argument that may differ where a capture ends is dynamic in the captures that go on there.
void open_arguments(ConfigId id, const Exit& exit);

// True if a number is known to the run of the graph alone.
bool has_unknown_numbers(const Symbols& symbols);
// The dimensions whose bits are set.
Ref dimensions_tuple(OpenDimensions open);

// Tells the backend which sizes of the graph's inputs are dynamic: graph_module.meta["open_sizes"], for each input a
// tuple of dimensions, or None for a dynamic int. False with a Python error set.
bool announce_open_sizes(PyObject* graph_module, const Exit& exit, const Symbols& symbols);

// The conditions that compiled code relies on, read from graph_module.meta["size_conditions"]: (relation, left, right),
// where a number is an int, ("size", input, dimension), ("int", input) or (operator, number, number). nullopt: a part
// of it cannot be understood, and the compiled code must not be used with other sizes.
std::optional<std::vector<SizeCondition>> size_conditions(PyObject* graph_module, const Exit& exit,
                                                          const Symbols& symbols);

// A number as such conditions have it; null: it is made of one that has no place among the inputs, or in another way.
Ref number_of_inputs(Expression expression, const Exit& exit, const Symbols& symbols);

// The limits that the configuration, and earlier captures, set for numbers that only the run of a graph knows.
UnbackedNumberLimits unbacked_number_limits(PyCodeObject* code, ConfigId id, PyObject* config);

}  // namespace minidynamo
