// Local variables and cells of a traced frame. A local that came from outside enters the trace when an instruction uses
// it, not when one moves it.
#pragma once
#include "world/state/tracer.h"

namespace minidynamo {

// A local whose slot is empty; null with an UnboundLocalError if it has no value.
Ref load_fast(Tracer& tracer, Frame& frame, int32_t index);

inline void store_fast(Frame& frame, int32_t index) {
  frame.forget_lazy_local(index);
  auto& waiting = frame.lazy_stack;
  Ref stored = frame.pop();
  if (!waiting.empty() && waiting.back().slot == frame.stack_top) {
    if (frame.lazy_locals.empty()) frame.lazy_locals.resize(frame.prepared->locals_count);
    frame.lazy_locals[index] = {stored.get(), waiting.back().source};
    waiting.pop_back();
    stored.reset();  // the source keeps it
  }
  frame.local(index) = std::move(stored);
}

// Moves a local's value to the stack, or a null where it has none.
void take_fast(Tracer& tracer, Frame& frame, int32_t index);
// Deletes a local that has a value.
void delete_fast(Tracer& tracer, Frame& frame, int32_t index);

// The operands of an instruction enter the trace, unless it only moves them.
bool touch_operands(Tracer& tracer, Frame& frame, const Instruction& now);

// The cell in a slot: a resume function's was given to it. Entering a cell cannot fail.
const Ref& cell_in(Tracer& tracer, Frame& frame, int32_t index);
// The error for an empty cell. Returns false.
bool unbound_cell(const Frame& frame, int32_t index);
bool store_cell(Tracer& tracer, PyObject* cell, PyObject* value);  // null: empties it
void copy_free_variables(Tracer& tracer, Frame& frame, int32_t count);

}  // namespace minidynamo
