// Values that residual code computes when the graph has run, and that a trace does not know: the time behind the last
// operation, what the program computes from it, and the text that it makes of that.
//
// The program may keep such a number, print it or give it away. It is the result of a call in the effect log
// (EffectLog), and nothing of the graph may come behind that call, or the number would not be that of its place: only
// the end of the trace can tell. Whatever would have to know the value ends the trace.
#pragma once
#include <optional>

#include "world/state/tracer.h"

namespace minidynamo {

enum class LateKind : uint8_t { Number, Text };  // a float, a str

// The result of a call for the residual code to make. Null: the trace is given up.
Ref emit_runtime_value(Tracer& tracer, DeferredCall call, LateKind kind);
bool is_runtime_value(PyObject* object) noexcept;
bool is_deferred_number(PyObject* object) noexcept;
bool is_deferred_text(PyObject* object) noexcept;
// The place of its call in the effect log.
size_t place_of_runtime_value(PyObject* object) noexcept;
// Those that the trace has made, in their order.
std::vector<PyObject*> runtime_values(const Tracer& tracer);
// Where the first of them is behind which the graph goes on, as Tracer::executed. After Graph::remove_dead_code().
std::optional<long> runtime_value_in_graph(const Tracer& tracer);

}  // namespace minidynamo
