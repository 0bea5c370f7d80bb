// Code objects as bytes: what the decoder reads and what the assembler hands over, without CPython's struct layouts.
//
// Does not interpret any instruction; csrc/bytecode/ does. The views are borrowed: they live as long as the code
// object.
#pragma once
#include <cstdint>
#include <span>

#include "python/ref.h"

namespace minidynamo {

// Bits of CodeView::localsplus_kinds.
inline constexpr uint8_t kFastLocal = 0x20, kFastCell = 0x40, kFastFree = 0x80;

// A bit of co_flags that CPython does not use: code that was generated to run around compiled graphs, which is never
// captured itself.
inline constexpr int32_t kGeneratedCode = 0x40000000;

struct CodeView {
  // Pairs of (opcode, argument), inline caches included. Opcodes may be specialized in place by the running
  // interpreter.
  std::span<const uint8_t> instructions;
  std::span<const uint8_t> location_table;
  std::span<const uint8_t> exception_table;
  std::span<const uint8_t> localsplus_kinds;
  PyObject *consts, *names, *localsplus_names;  // tuples
  PyObject *filename, *name, *qualname;
  int32_t argcount, posonlyargcount, kwonlyargcount, flags, first_line, stack_size;
};

CodeView view_code(PyCodeObject* code) noexcept;

// Which opcode a specialized, adaptive or super-instruction opcode stands for; an opcode of the compiler maps to
// itself.
uint8_t base_opcode(uint8_t opcode) noexcept;

// A new code object with the given parts. `instructions` must hold base opcodes only. The consts tuple becomes the code
// object's own as it is: constants are not interned, so every one keeps its identity (names are interned, as CPython
// requires). Null with a Python error set on failure.
Ref make_code(const CodeView& parts);

}  // namespace minidynamo
