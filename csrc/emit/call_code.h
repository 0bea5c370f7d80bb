// How a call is written: the one place that knows where CPython wants its NULL, and what ends a call. `emit` is the
// writer's own, of an instruction and its argument.
#pragma once
#include <cstdint>

#include "bytecode/instruction.h"

namespace minidynamo {

// `push_callable` leaves one object on the stack; the arguments follow, and then one of the ends below.
template <typename Emit, typename Push>
void begin_call(Emit&& emit, Push&& push_callable) {
  emit(Op::PUSH_NULL, 0);
  push_callable();
}

template <typename Emit>
void end_call(Emit&& emit, int32_t count) {
  emit(Op::CALL, count);
}

// Of a tuple of arguments, and behind it a dict of keywords, if `has_keywords`.
template <typename Emit>
void end_spread_call(Emit&& emit, bool has_keywords) {
  emit(Op::CALL_FUNCTION_EX, has_keywords ? 1 : 0);
}

}  // namespace minidynamo
