#include "bytecode/stack_depth.h"

#include <algorithm>
#include <bit>

namespace minidynamo {

bool is_jump(Op op) noexcept {
  switch (op) {
    case Op::JUMP:
    case Op::POP_JUMP_IF_FALSE:
    case Op::POP_JUMP_IF_TRUE:
    case Op::POP_JUMP_IF_NONE:
    case Op::POP_JUMP_IF_NOT_NONE:
    case Op::JUMP_IF_FALSE_OR_POP:
    case Op::JUMP_IF_TRUE_OR_POP:
    case Op::FOR_ITER:
    case Op::SEND:
      return true;
    default:
      return false;
  }
}

bool ends_flow(Op op) noexcept {
  return op == Op::JUMP || op == Op::RETURN_VALUE || op == Op::RAISE_VARARGS || op == Op::RERAISE;
}

int stack_effect(const Instruction& instruction, bool jump) noexcept {
  const int32_t arg = instruction.arg;
  switch (instruction.op) {
    case Op::NOP:
    case Op::RESUME:
    case Op::SWAP:
    case Op::DELETE_FAST:
    case Op::DELETE_GLOBAL:
    case Op::DELETE_NAME:
    case Op::DELETE_DEREF:
    case Op::MAKE_CELL:
    case Op::COPY_FREE_VARS:
    case Op::SETUP_ANNOTATIONS:
    case Op::KW_NAMES:
    case Op::JUMP:
    case Op::LOAD_ATTR:
    case Op::UNARY_POSITIVE:
    case Op::UNARY_NEGATIVE:
    case Op::UNARY_NOT:
    case Op::UNARY_INVERT:
    case Op::LIST_TO_TUPLE:
    case Op::GET_ITER:
    case Op::GET_YIELD_FROM_ITER:
    case Op::GET_AWAITABLE:
    case Op::GET_AITER:
    case Op::YIELD_VALUE:  // takes the value; resuming leaves the value sent
    case Op::ASYNC_GEN_WRAP:
    case Op::CHECK_EXC_MATCH:
    case Op::CHECK_EG_MATCH:
      return 0;

    case Op::PUSH_NULL:
    case Op::COPY:
    case Op::LOAD_CONST:
    case Op::LOAD_FAST:
    case Op::LOAD_NAME:
    case Op::LOAD_CLOSURE:
    case Op::LOAD_DEREF:
    case Op::LOAD_CLASSDEREF:
    case Op::LOAD_BUILD_CLASS:
    case Op::LOAD_ASSERTION_ERROR:
    case Op::LOAD_METHOD:
    case Op::IMPORT_FROM:
    case Op::GET_LEN:
    case Op::MATCH_MAPPING:
    case Op::MATCH_SEQUENCE:
    case Op::MATCH_KEYS:
    case Op::GET_ANEXT:
    case Op::BEFORE_WITH:
    case Op::BEFORE_ASYNC_WITH:
    case Op::WITH_EXCEPT_START:
    case Op::PUSH_EXC_INFO:
    case Op::RETURN_GENERATOR:
      return 1;  // the generator starts with the first value sent
    case Op::LOAD_GLOBAL:
      return instruction.push_null ? 2 : 1;

    case Op::POP_TOP:
    case Op::STORE_FAST:
    case Op::STORE_GLOBAL:
    case Op::STORE_NAME:
    case Op::STORE_DEREF:
    case Op::DELETE_ATTR:
    case Op::BINARY_OP:
    case Op::BINARY_SUBSCR:
    case Op::COMPARE_OP:
    case Op::IS_OP:
    case Op::CONTAINS_OP:
    case Op::LIST_APPEND:
    case Op::LIST_EXTEND:
    case Op::SET_ADD:
    case Op::SET_UPDATE:
    case Op::DICT_UPDATE:
    case Op::DICT_MERGE:
    case Op::POP_JUMP_IF_FALSE:
    case Op::POP_JUMP_IF_TRUE:
    case Op::POP_JUMP_IF_NONE:
    case Op::POP_JUMP_IF_NOT_NONE:
    case Op::RETURN_VALUE:
    case Op::RERAISE:
    case Op::POP_EXCEPT:
    case Op::PREP_RERAISE_STAR:
    case Op::IMPORT_NAME:
    case Op::IMPORT_STAR:
    case Op::PRINT_EXPR:
      return -1;

    case Op::STORE_ATTR:
    case Op::DELETE_SUBSCR:
    case Op::MAP_ADD:
    case Op::END_ASYNC_FOR:
    case Op::MATCH_CLASS:
      return -2;
    case Op::STORE_SUBSCR:
      return -3;

    case Op::JUMP_IF_FALSE_OR_POP:
    case Op::JUMP_IF_TRUE_OR_POP:
      return jump ? 0 : -1;
    case Op::FOR_ITER:
      return jump ? -1 : 1;
    case Op::SEND:
      return jump ? -1 : 0;

    case Op::BUILD_TUPLE:
    case Op::BUILD_LIST:
    case Op::BUILD_SET:
    case Op::BUILD_STRING:
      return 1 - arg;
    case Op::BUILD_MAP:
      return 1 - 2 * arg;
    case Op::BUILD_CONST_KEY_MAP:
      return -arg;
    case Op::BUILD_SLICE:
      return arg == 3 ? -2 : -1;
    case Op::FORMAT_VALUE:
      return arg & 4 ? -1 : 0;
    case Op::UNPACK_SEQUENCE:
      return arg - 1;
    case Op::UNPACK_EX:
      return (arg & 0xFF) + (arg >> 8);
    case Op::CALL:
      return -1 - arg;
    case Op::CALL_FUNCTION_EX:
      return arg & 1 ? -3 : -2;
    case Op::MAKE_FUNCTION:
      return -std::popcount(static_cast<uint32_t>(arg & 0xF));
    case Op::RAISE_VARARGS:
      return -arg;
  }
  return 0;
}

int stack_inputs(const Instruction& instruction) noexcept {
  const int32_t arg = instruction.arg;
  switch (instruction.op) {
    case Op::NOP:
    case Op::RESUME:
    case Op::PUSH_NULL:
    case Op::LOAD_CONST:
    case Op::LOAD_FAST:
    case Op::DELETE_FAST:
    case Op::LOAD_GLOBAL:
    case Op::DELETE_GLOBAL:
    case Op::LOAD_NAME:
    case Op::DELETE_NAME:
    case Op::MAKE_CELL:
    case Op::COPY_FREE_VARS:
    case Op::LOAD_CLOSURE:
    case Op::LOAD_DEREF:
    case Op::DELETE_DEREF:
    case Op::LOAD_CLASSDEREF:
    case Op::LOAD_BUILD_CLASS:
    case Op::LOAD_ASSERTION_ERROR:
    case Op::JUMP:
    case Op::KW_NAMES:
    case Op::RETURN_GENERATOR:
    case Op::SETUP_ANNOTATIONS:
      return 0;

    case Op::POP_TOP:
    case Op::STORE_FAST:
    case Op::STORE_GLOBAL:
    case Op::STORE_NAME:
    case Op::STORE_DEREF:
    case Op::LOAD_ATTR:
    case Op::LOAD_METHOD:
    case Op::DELETE_ATTR:
    case Op::UNARY_POSITIVE:
    case Op::UNARY_NEGATIVE:
    case Op::UNARY_NOT:
    case Op::UNARY_INVERT:
    case Op::LIST_TO_TUPLE:
    case Op::UNPACK_SEQUENCE:
    case Op::UNPACK_EX:
    case Op::GET_ITER:
    case Op::FOR_ITER:
    case Op::GET_LEN:
    case Op::MATCH_MAPPING:
    case Op::MATCH_SEQUENCE:
    case Op::POP_JUMP_IF_FALSE:
    case Op::POP_JUMP_IF_TRUE:
    case Op::POP_JUMP_IF_NONE:
    case Op::POP_JUMP_IF_NOT_NONE:
    case Op::JUMP_IF_FALSE_OR_POP:
    case Op::JUMP_IF_TRUE_OR_POP:
    case Op::RETURN_VALUE:
    case Op::YIELD_VALUE:
    case Op::ASYNC_GEN_WRAP:
    case Op::GET_YIELD_FROM_ITER:
    case Op::GET_AWAITABLE:
    case Op::GET_AITER:
    case Op::GET_ANEXT:
    case Op::BEFORE_WITH:
    case Op::BEFORE_ASYNC_WITH:
    case Op::PUSH_EXC_INFO:
    case Op::POP_EXCEPT:
    case Op::IMPORT_FROM:
    case Op::IMPORT_STAR:
    case Op::PRINT_EXPR:
      return 1;

    case Op::STORE_ATTR:
    case Op::BINARY_OP:
    case Op::BINARY_SUBSCR:
    case Op::DELETE_SUBSCR:
    case Op::COMPARE_OP:
    case Op::IS_OP:
    case Op::CONTAINS_OP:
    case Op::MATCH_KEYS:
    case Op::SEND:
    case Op::END_ASYNC_FOR:
    case Op::CHECK_EXC_MATCH:
    case Op::CHECK_EG_MATCH:
    case Op::PREP_RERAISE_STAR:
    case Op::IMPORT_NAME:
      return 2;
    case Op::STORE_SUBSCR:
    case Op::MATCH_CLASS:
      return 3;
    case Op::WITH_EXCEPT_START:
      return 4;

    case Op::COPY:
    case Op::SWAP:
    case Op::BUILD_TUPLE:
    case Op::BUILD_LIST:
    case Op::BUILD_SET:
    case Op::BUILD_STRING:
    case Op::RAISE_VARARGS:
      return arg;
    case Op::BUILD_MAP:
      return 2 * arg;
    case Op::BUILD_CONST_KEY_MAP:
    case Op::RERAISE:
      return arg + 1;  // the offset to raise from lies `arg` below the exception
    case Op::BUILD_SLICE:
      return arg == 3 ? 3 : 2;
    case Op::FORMAT_VALUE:
      return arg & 4 ? 2 : 1;
    case Op::LIST_APPEND:
    case Op::LIST_EXTEND:
    case Op::SET_ADD:
    case Op::SET_UPDATE:
    case Op::DICT_UPDATE:
      return arg + 1;  // the container lies `arg` below the value
    case Op::MAP_ADD:
      return arg + 2;
    case Op::DICT_MERGE:
      return arg + 3;  // its error names the callable, which lies two below the dict
    case Op::CALL:
      return arg + 2;
    case Op::CALL_FUNCTION_EX:
      return arg & 1 ? 4 : 3;
    case Op::MAKE_FUNCTION:
      return 1 + std::popcount(static_cast<uint32_t>(arg & 0xF));
  }
  return 0;
}

namespace {

class DepthAnalysis {
 public:
  DepthAnalysis(const Bytecode& bytecode, StackDepths& depths) : bytecode_(bytecode), depths_(depths) {}

  bool run() {
    const size_t count = bytecode_.instructions.size();
    depths_.before.assign(count, -1);
    depths_.maximum = 0;
    if (count == 0) return fail(0, "there are no instructions");
    if (!reach(0, 0)) return false;
    for (const ExceptionRegion& region : bytecode_.regions) {
      if (region.start < 0 || region.end > static_cast<int32_t>(count) || region.depth < 0) {
        return fail(region.target, "its exception region lies outside of the code");
      }
      if (!reach(region.target, region.depth + 1 + (region.push_lasti ? 1 : 0))) return false;
    }
    while (!pending_.empty()) {
      const int32_t index = pending_.back();
      pending_.pop_back();
      if (!follow(index)) return false;
    }
    return check_regions();
  }

 private:
  // Walks straight on from an instruction whose depth is known.
  bool follow(int32_t index) {
    for (;;) {
      const Instruction& instruction = bytecode_.instructions[index];
      const int32_t depth = depths_.before[index];
      if (depth < stack_inputs(instruction)) return fail(index, "the stack is read below its bottom");
      if (is_jump(instruction.op) && !reach(instruction.target, depth + stack_effect(instruction, true))) return false;
      if (ends_flow(instruction.op)) return true;
      const int32_t after = depth + stack_effect(instruction, false);
      const int32_t next = index + 1;
      const bool known = next < static_cast<int32_t>(depths_.before.size()) && depths_.before[next] >= 0;
      if (!reach(next, after)) return false;
      if (known) return true;
      pending_.pop_back();
      index = next;
    }
  }

  bool reach(int32_t index, int32_t depth) {
    if (index < 0 || index >= static_cast<int32_t>(depths_.before.size())) {
      return fail(index, "control leaves the code");
    }
    int32_t& known = depths_.before[index];
    if (known == depth) return true;
    if (known >= 0) return fail(index, "it is reached with different stack depths");
    known = depth;
    depths_.maximum = std::max(depths_.maximum, depth);
    pending_.push_back(index);
    return true;
  }

  bool check_regions() {
    for (const ExceptionRegion& region : bytecode_.regions) {
      for (int32_t index = region.start; index < region.end; ++index) {
        const int32_t depth = depths_.before[index];
        if (depth >= 0 && depth < region.depth) return fail(index, "its exception handler expects a deeper stack");
      }
    }
    return true;
  }

  bool fail(int32_t index, const char* reason) {
    PyErr_Format(PyExc_ValueError, "cannot assemble %V: instruction %d: %s", bytecode_.qualname.get(), "bytecode",
                 index, reason);
    return false;
  }

  const Bytecode& bytecode_;
  StackDepths& depths_;
  std::vector<int32_t> pending_;
};

}  // namespace

bool compute_stack_depths(const Bytecode& bytecode, StackDepths& depths) {
  return DepthAnalysis(bytecode, depths).run();
}

}  // namespace minidynamo
