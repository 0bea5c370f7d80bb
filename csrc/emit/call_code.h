// How a call is written: the one place that knows where CPython wants its NULL, and what ends a call. `emit` is the
// writer's own, of an instruction and its argument.
#pragma once
#include <cstdint>

#include "bytecode/instruction.h"

namespace minidynamo {

// `push_callable` leaves one object on the stack; the arguments follow, and then one of the ends below.
template <typename Emit, typename Push>
void begin_call(Emit&& emit, Push&& push_callable) {
  if (!kNullFollowsCallable) emit(Op::PUSH_NULL, 0);
  push_callable();
  if (kNullFollowsCallable) emit(Op::PUSH_NULL_BELOW, 0);
}

// Pushes `count` slots of a stack, in some of which there is the null of a call. From 3.13 on its callable lies in the
// next: nothing comes between the two; before, the callable may still be missing. `is_swapped`: of a null on top the
// callable lies below it, since `with` has swapped what LOAD_SPECIAL pushed.
template <typename Emit, typename IsNull, typename Push>
void push_slots(Emit&& emit, size_t count, IsNull&& is_null, Push&& push, bool is_swapped = false) {
  for (size_t slot = 0; slot < count; ++slot) {
    const bool has_null = is_null(slot);
    if (!has_null) {
      push(slot);
    } else if (!kNullFollowsCallable) {
      emit(Op::PUSH_NULL, 0);
    } else {
      if (slot + 1 < count) push(++slot);
      emit(Op::PUSH_NULL_BELOW, 0);
      if (slot + 1 == count && is_swapped) emit(Op::SWAP, 2);
    }
  }
}

template <typename Emit>
void end_call(Emit&& emit, int32_t count) {
  emit(Op::CALL, count);
}

// Emits a call with a tuple of arguments, and behind it a dict of keywords, if `has_keywords`.
template <typename Emit>
void end_spread_call(Emit&& emit, bool has_keywords) {
  emit(Op::CALL_FUNCTION_EX, has_keywords ? 1 : 0);
}

}  // namespace minidynamo
