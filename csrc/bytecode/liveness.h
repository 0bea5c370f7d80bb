// Which fast locals may still be read: what a resume function must be given.
#pragma once
#include <cstdint>
#include <vector>

#include "bytecode/instruction.h"

namespace minidynamo {

class Liveness {
 public:
  explicit Liveness(const Bytecode& bytecode);

  // True if the local's value, or that it has none, can matter from here on. Cells and free variables are locals too.
  bool before(int32_t instruction, int32_t local) const noexcept { return get(instruction, local); }
  // The same once the instruction has run, or has raised and a handler of this code is entered.
  bool after(int32_t instruction, int32_t local) const noexcept;

 private:
  const Bytecode& bytecode_;
  size_t words_;                // per instruction
  std::vector<uint64_t> bits_;  // before each instruction

  bool get(int32_t instruction, int32_t local) const noexcept {
    return (bits_[instruction * words_ + local / 64] >> (local % 64)) & 1;
  }
  bool update(int32_t instruction);
};

}  // namespace minidynamo
