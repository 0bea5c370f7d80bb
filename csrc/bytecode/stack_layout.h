// Finds the kind of each slot of the value stack before an instruction: the compiler's own helpers (nulls for calls,
// saved exception states) are no values that a program could pass on.
#pragma once
#include <cstdint>
#include <vector>

#include "bytecode/instruction.h"

namespace minidynamo {

enum class SlotKind : uint8_t {
  Value,
  Saved,              // LOAD_FAST_AND_CLEAR's: a value, or a null
  Null,               // PUSH_NULL
  Method,             // the lower one of LOAD_METHOD's two: a function, or null
  MethodSelf,         // the upper one: the object that is the function's first argument, or the callable itself
  PreviousException,  // saved by PUSH_EXC_INFO: the exception that was being handled before
  RaisingInstruction  // where a handler's exception came from, for RERAISE
};

// The index of the Method that belongs to a MethodSelf. It is the slot below, or the slot above between the two SWAPs
// behind LOAD_SPECIAL.
int32_t method_of(const std::vector<SlotKind>& layout, int32_t self) noexcept;

class StackLayout {
 public:
  explicit StackLayout(const Bytecode& bytecode);

  // From the bottom up; empty for unreachable instructions.
  const std::vector<SlotKind>& before(int32_t instruction) const noexcept { return before_[instruction]; }
  // After the instruction; `jump`: where its jump leads.
  std::vector<SlotKind> after(int32_t instruction, bool jump) const;

 private:
  const Bytecode& bytecode_;
  std::vector<std::vector<SlotKind>> before_;
  std::vector<bool> reached_;
  std::vector<int32_t> pending_;

  void reach(int32_t instruction, std::vector<SlotKind> layout);
};

}  // namespace minidynamo
