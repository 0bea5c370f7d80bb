// How deep the value stack gets: the effect of one instruction (stack_effect, instruction.h) followed along every path.
#pragma once
#include <cstdint>
#include <vector>

#include "bytecode/instruction.h"

namespace minidynamo {

bool is_jump(Op op) noexcept;    // has a target
bool ends_flow(Op op) noexcept;  // never goes on at the next instruction

// How many slots from the top an instruction looks at, whether it takes them or not.
int stack_inputs(const Instruction& instruction) noexcept;

struct StackDepths {
  std::vector<int32_t> before;  // depth before each instruction; -1 for unreachable ones
  int32_t maximum = 0;
};

// False with a Python error (ValueError) if two paths reach an instruction with different depths, the stack would go
// below zero or below what an exception handler expects, or a path runs past the end.
bool compute_stack_depths(const Bytecode& bytecode, StackDepths& depths);

}  // namespace minidynamo
