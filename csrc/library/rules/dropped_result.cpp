#include "library/rules/dropped_result.h"

#include "bytecode/liveness.h"

namespace minidynamo {

bool is_result_dropped(const Frame& frame) {
  if (frame.current().op != Op::CALL) return false;
  const int32_t at = frame.instruction + 1;
  const Instruction& next = frame.prepared->bytecode.instructions[at];
  if (next.op == Op::POP_TOP) return true;
  return next.op == Op::STORE_FAST && !frame.prepared->liveness().before(at + 1, next.arg);
}

}  // namespace minidynamo
