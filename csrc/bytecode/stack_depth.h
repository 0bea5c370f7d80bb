// How deep the value stack gets: the effect of one instruction (stack_effect, op_facts.h) followed along every path.
#pragma once
#include <cstdint>
#include <vector>

#include "bytecode/instruction.h"

namespace minidynamo {

struct StackDepths {
  std::vector<int32_t> before;  // depth before each instruction; -1 for unreachable ones
  int32_t maximum = 0;
};

// False with a Python error (ValueError) if two paths reach an instruction with different depths, the stack would go
// below zero or below what an exception handler expects, or a path runs past the end.
bool compute_stack_depths(const Bytecode& bytecode, StackDepths& depths);

}  // namespace minidynamo
