// Bytecode as data: a version-neutral form of a code object, between the decoder and the assembler.
//
// Nothing outside csrc/python/ and csrc/bytecode/ knows which CPython runs. The neutral set takes CPython 3.11's names
// and differs from the raw bytecode in this: no CACHE, EXTENDED_ARG or PRECALL; specialized and instrumented opcodes
// are read back to their base form; forward, backward and no-interrupt jumps are one opcode each; a jump's target is
// the index of an instruction; LOAD_GLOBAL's "push a null first" is a flag; local, cell and free variables are indices
// into one array ("fast locals" or localsplus: parameters, other locals, cells, free variables).
// Of later versions: FOR_ITER and SEND take the iterator from the stack where they jump, as in 3.11, and there is no
// END_FOR or END_SEND; what 3.12 does in one instruction (RETURN_CONST, BINARY_SLICE, STORE_SLICE) is two; intrinsics
// that were instructions still are; LOAD_FAST asks whether the local is bound. Of 3.13: the null of a call lies below
// the callable, as in 3.11, and is pushed by PUSH_NULL_BELOW; what is one instruction for two locals is two; names of
// keywords are KW_NAMES's; a function gets all its attributes by MAKE_FUNCTION; jumps and UNARY_NOT ask for a truth
// themselves, without TO_BOOL; LOAD_CLOSURE loads a cell. Of 3.14: subscripts are BINARY_SUBSCR's; CALL_FUNCTION_EX
// has keywords on the stack where there are any; whether a load owns what it loads is not said.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "python/ref.h"

namespace minidynamo {

enum class Op : uint8_t {
#define MINIDYNAMO_OP(name, ...) name,
#include "bytecode/ops.def"
#undef MINIDYNAMO_OP
};

const char* op_name(Op op) noexcept;

// The argument of CALL_INTRINSIC_1, where it is no instruction of its own.
enum class Intrinsic : uint8_t {
  Print = 1,
  ImportStar = 2,
  StopIterationError = 3,
  TypeVar = 7,
  ParamSpec = 8,
  TypeVarTuple = 9,
  SubscriptGeneric = 10,
  TypeAlias = 11
};

// The argument of LOAD_SPECIAL.
enum class SpecialMethod : uint8_t { Enter, Exit, AsyncEnter, AsyncExit };
const char* name_of(SpecialMethod method) noexcept;  // __enter__

// How code calls: from CPython 3.13 on with PUSH_NULL_BELOW behind the callable, in earlier ones with PUSH_NULL before.
constexpr bool kNullFollowsCallable = PY_VERSION_HEX >= 0x030D0000;
// An error of a call that the interpreter has inlined looks for its handler one code unit before the call.
constexpr bool kCallRaisesBeforeItself = PY_VERSION_HEX >= 0x030D0000;
// In 3.13 a class that CALL has called often runs its __init__ without asking the hook for frames. CALL_FUNCTION_EX
// calls it as any other object.
constexpr bool kCallMaySkipHook = PY_VERSION_HEX >= 0x030D0000 && PY_VERSION_HEX < 0x030E0000;
// RERAISE reads the place of the instruction that raised from the stack. From 3.14 on CPython keeps it there as a
// tagged number: no constant of assembled code can be one.
constexpr bool kRaisingInstructionIsObject = PY_VERSION_HEX < 0x030E0000;
// How many values a manager's __exit__ is while its `with` runs.
constexpr int32_t kExitSlots = PY_VERSION_HEX >= 0x030E0000 ? 2 : 1;

struct Position {  // as co_positions() yields it; -1 stands for None
  int32_t line = -1, end_line = -1, column = -1, end_column = -1;
};

struct Instruction {
  Op op;
  bool push_null = false;  // LOAD_GLOBAL: pushes a null below the value, for a call
  int32_t arg = 0;         // names/consts/fast-locals index, count, or operator number; unused in jumps
  int32_t target = -1;     // jumps only: index into Bytecode::instructions
  int32_t offset = -1;     // byte offset in the code object that it was decoded from; -1 if synthesized
  Position position;
  bool has_arguments = false;  // LOAD_SUPER_*: super was called with a class and an object
};

// One row of the exception table: an error raised in [start, end) pops the stack to `depth`, pushes the offset of the
// raising instruction if `push_lasti`, pushes the exception, and goes on at `target`. All are instruction indices.
struct ExceptionRegion {
  int32_t start, end, target, depth;
  bool push_lasti;
};

struct Bytecode {
  std::vector<Instruction> instructions;
  std::vector<ExceptionRegion> regions;  // in table order: disjoint and sorted by start

  // The rest of the code object.
  Ref consts, names;                      // tuples
  Ref localsplus_names;                   // tuple of str: every fast local
  std::vector<uint8_t> localsplus_kinds;  // CPython's CO_FAST_LOCAL / CO_FAST_CELL / CO_FAST_FREE bits
  Ref filename, name, qualname;
  int32_t argcount = 0, posonlyargcount = 0, kwonlyargcount = 0, flags = 0, first_line = 0;

  // Index of the region that covers an instruction, or null.
  const ExceptionRegion* region_at(int32_t index) const noexcept;
  // The innermost region that comes from a try or with. From CPython 3.12 on there are others too: around
  // comprehensions, the wait of `yield from`, and all of a generator's code.
  const ExceptionRegion* block_at(int32_t index) const noexcept;
  // Instruction that stands at a byte offset of the code object that was decoded, or that EXTENDED_ARG and PRECALL
  // there belong to; -1 if none does. Only for bytecode as decode() made it.
  int32_t index_of_offset(int32_t offset) const noexcept;
};

// Reads a code object. Code that no compiler made (unknown opcodes, jumps to nowhere) yields no instructions.
Bytecode decode(PyCodeObject* code);

// Makes a code object (jump widths, inline caches, PRECALL, exception table, location table, stack depth).
// Null Ref with a Python error set if the stack depths do not agree.
Ref assemble(const Bytecode& bytecode);

// Text form, one line an instruction: index, offset, name, argument as text.
std::string to_text(const Bytecode& bytecode);

}  // namespace minidynamo
