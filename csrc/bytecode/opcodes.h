// The running CPython's raw opcodes, as the decoder and the assembler need them. Private to csrc/bytecode/.
//
// The only place that chooses a version's table (opcodes_311.def; later versions stand beside it).
#pragma once
#include <array>
#include <cstdint>

#include "bytecode/instruction.h"

namespace minidynamo::raw {

static_assert(PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030C0000, "no opcode table for this CPython");
#define MINIDYNAMO_OPCODE_TABLE "bytecode/opcodes_311.def"

enum class Form : uint8_t { Unknown, Plain, Name, Forward, Backward, NoInterrupt, Prefix, Ignored };

struct Opcode {
  Op op = Op::NOP;
  Form form = Form::Unknown;
  uint8_t caches = 0;  // inline cache units that follow
};

inline constexpr size_t kOpCount = 0
#define MINIDYNAMO_OP(...) +1
#include "bytecode/ops.def"
#undef MINIDYNAMO_OP
    ;

inline constexpr uint8_t kExtendedArg = 144, kPrecall = 166;
inline constexpr int kPrecallCaches = 1;

// By raw number; specialized opcodes stand as their base form. Built once.
const std::array<Opcode, 256>& opcodes() noexcept;

// The way back: the number of a neutral op, by direction for jumps. 0 where there is none.
struct Encoding {
  uint8_t plain = 0;  // or the forward jump
  uint8_t backward = 0;
  uint8_t no_interrupt = 0;
  uint8_t caches = 0;
};

consteval std::array<Encoding, kOpCount> make_encodings() {
  std::array<Encoding, kOpCount> table{};
#define MINIDYNAMO_OPCODE(number, cache_units, form_name, op_name)           \
  if (Form::form_name != Form::Ignored && Form::form_name != Form::Prefix) { \
    Encoding& encoding = table[static_cast<size_t>(Op::op_name)];            \
    encoding.caches = cache_units;                                           \
    (Form::form_name == Form::Backward      ? encoding.backward              \
     : Form::form_name == Form::NoInterrupt ? encoding.no_interrupt          \
                                            : encoding.plain) = number;      \
  }
#include MINIDYNAMO_OPCODE_TABLE
#undef MINIDYNAMO_OPCODE
  return table;
}
inline constexpr std::array<Encoding, kOpCount> kEncodings = make_encodings();

constexpr const Encoding& encoding_of(Op op) noexcept { return kEncodings[static_cast<size_t>(op)]; }

}  // namespace minidynamo::raw
