// The facts that are known of an instruction without running it: the rows of ops.def as functions.
#pragma once
#include <cstdint>

#include "bytecode/instruction.h"

namespace minidynamo {

// The meaning of an instruction's argument.
enum class Operand : uint8_t {
  None,
  Number,
  Const,   // index into the constants
  Name,    // index into the names
  Local,   // index into the fast locals
  Target,  // a jump's
  BinaryOperator,
  Comparison,
  Identity,    // 0: is, 1: is not
  Membership,  // 0: in, 1: not in
};

Operand operand(Op op) noexcept;
bool is_jump(Op op) noexcept;        // has a target
bool ends_flow(Op op) noexcept;      // never goes on at the next instruction
bool runs_anywhere(Op op) noexcept;  // does the same in another code object, given its operands

// True if it takes symbolic ints among its inputs (model/proxies/size_operation.h), or takes an object that holds them.
bool takes_sizes(Op op) noexcept;
bool holds_sizes(Op op) noexcept;

// The fast local that an instruction reads (or asks whether it is bound), or writes; -1: none.
int32_t local_read(const Instruction& instruction) noexcept;
int32_t local_written(const Instruction& instruction) noexcept;

// How many slots from the top an instruction looks at, whether it takes them or not.
int stack_inputs(const Instruction& instruction) noexcept;
// How many more values there are on the stack after an instruction; `jump` tells which of a conditional jump's ways.
int stack_effect(const Instruction& instruction, bool jump) noexcept;
// How many of its inputs an instruction leaves where they are, below its results. (COPY and SWAP only move.)
int32_t kept_operands(const Instruction& instruction, bool jump) noexcept;

}  // namespace minidynamo
