// The instructions that make containers and strings, fill them, and take iterables apart.
#pragma once
#include "world/state/tracer.h"

namespace minidynamo {

// Each takes its operands off the stack and returns the container built; null: an error, or the trace is given up.
Ref build_sequence(Tracer& tracer, Frame& frame, int32_t count, bool is_tuple);
Ref build_set(Tracer& tracer, Frame& frame, int32_t count);
Ref build_map(Tracer& tracer, Frame& frame, int32_t count);
Ref build_const_key_map(Tracer& tracer, Frame& frame, int32_t count);
Ref build_string(Tracer& tracer, Frame& frame, int32_t count);
// str(), repr() or ascii(), by number from 1 on; of a `spec` the value's format in it (0: of the value as it is).
Ref convert_value(Tracer& tracer, PyObject* value, int32_t conversion);
Ref format_value(Tracer& tracer, PyObject* value, PyObject* spec, int32_t conversion);

// Pushes the items of an iterable so that the first is on top; `after` < 0: exactly `before` items, otherwise a starred
// target between `before` and `after`.
bool unpack(Tracer& tracer, Frame& frame, PyObject* iterable, int32_t before, int32_t after);

// A container that an instruction adds to: made by this code, or, behind a graph break, by the original's.
bool fill_target(Tracer& tracer, Frame& frame, int32_t depth);
bool extend_list(Tracer& tracer, PyObject* list, PyObject* iterable);
bool update_dict(Tracer& tracer, PyObject* dict, PyObject* update);
bool merge_keywords(Tracer& tracer, PyObject* dict, PyObject* update);

}  // namespace minidynamo
