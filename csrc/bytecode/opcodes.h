// The running CPython's raw opcodes, as the decoder and the assembler need them. Private to csrc/bytecode/.
//
// The only place that chooses a version's table.
#pragma once
#include <array>
#include <cstdint>

#include "bytecode/instruction.h"

namespace minidynamo::raw {

static_assert(PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030F0000, "no opcode table for this CPython");
#if PY_VERSION_HEX < 0x030C0000
#define MINIDYNAMO_OPCODE_TABLE "bytecode/opcodes_311.def"
#elif PY_VERSION_HEX < 0x030D0000
#define MINIDYNAMO_OPCODE_TABLE "bytecode/opcodes_312.def"
#elif PY_VERSION_HEX < 0x030E0000
#define MINIDYNAMO_OPCODE_TABLE "bytecode/opcodes_313.def"
#else
#define MINIDYNAMO_OPCODE_TABLE "bytecode/opcodes_314.def"
#endif

// How the argument is read; see the head of a table.
enum class Form : uint8_t {
  Unknown,
  Plain,
  Name,
  Attribute,
  Super,
  Comparison,
  ComparisonToBool,
  Local,
  Resume,
  Format,
  Forward,
  Backward,
  NoInterrupt,
  ReturnConst,
  Slice,
  LoadPair,
  StorePair,
  Keywords,
  FunctionAttribute,
  Truth,
  Borrow,
  Spread,
  Null,
  Unread,
  Synonym,
  Prefix,
  Ignored
};

// How many neutral instructions there are for one, whatever stands behind it.
constexpr int instructions_of(Form form) noexcept {
  switch (form) {
    case Form::Prefix:
    case Form::Ignored:
    case Form::FunctionAttribute:
    case Form::Truth:
      return 0;
    case Form::ReturnConst:
    case Form::Slice:
    case Form::LoadPair:
    case Form::StorePair:
      return 2;
    default:
      return 1;
  }
}

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

enum Number : uint8_t {
#define MINIDYNAMO_OPCODE(...)
#define MINIDYNAMO_INTRINSIC(...)
#define MINIDYNAMO_NUMBER(name, number) kNumberOf_##name = number,
#include MINIDYNAMO_OPCODE_TABLE
#undef MINIDYNAMO_OPCODE
#undef MINIDYNAMO_INTRINSIC
#undef MINIDYNAMO_NUMBER
};
inline constexpr int kPrecallCaches = 1;

// By raw number of an instruction that is not specialized.
inline constexpr std::array<uint8_t, 256> kCaches = [] {
  std::array<uint8_t, 256> table{};
#define MINIDYNAMO_OPCODE(number, caches, ...) table[number] = caches;
#define MINIDYNAMO_INTRINSIC(...)
#define MINIDYNAMO_NUMBER(...)
#include MINIDYNAMO_OPCODE_TABLE
#undef MINIDYNAMO_OPCODE
#undef MINIDYNAMO_INTRINSIC
#undef MINIDYNAMO_NUMBER
  return table;
}();

// By raw number; specialized opcodes stand as their base form. Built once.
const std::array<Opcode, 256>& opcodes() noexcept;

// The op of its own that an argument has, by the instruction's number; null if it has none.
const Op* op_of_intrinsic(uint8_t number, uint32_t argument) noexcept;

constexpr bool argument_may_be_op(Op op) noexcept {
  return op == Op::CALL_INTRINSIC_1 || op == Op::CALL_INTRINSIC_2 || op == Op::BINARY_OP ||
         op == Op::LOAD_COMMON_CONSTANT;
}

// The way back: the number of a neutral op, by direction for jumps. 0 where there is none.
struct Encoding {
  uint8_t plain = 0;  // or the forward jump
  uint8_t backward = 0;
  uint8_t no_interrupt = 0;
  uint8_t intrinsic = 0;  // the argument, where it says which op it is
  Form form = Form::Unknown;
};

consteval std::array<Encoding, kOpCount> make_encodings() {
  std::array<Encoding, kOpCount> table{};
  auto add = [&table](uint8_t number, Form form, Op op) {
    const bool is_written_otherwise = form == Form::Synonym || form == Form::Borrow || form == Form::Keywords;
    if (instructions_of(form) != 1 || is_written_otherwise) return;
    Encoding& encoding = table[static_cast<size_t>(op)];
    encoding.form = form;
    (form == Form::Backward      ? encoding.backward
     : form == Form::NoInterrupt ? encoding.no_interrupt
                                 : encoding.plain) = number;
  };
#define MINIDYNAMO_OPCODE(number, caches, form, op)                            \
  add(number, Form::form, Op::op);                                             \
  if (Form::form == Form::Attribute) add(number, Form::form, Op::LOAD_METHOD); \
  if (Form::form == Form::Super) add(number, Form::form, Op::LOAD_SUPER_METHOD);
#define MINIDYNAMO_INTRINSIC(number, argument, op) \
  table[static_cast<size_t>(Op::op)] = {.plain = number, .intrinsic = argument, .form = Form::Plain};
#define MINIDYNAMO_NUMBER(...)
#include MINIDYNAMO_OPCODE_TABLE
#undef MINIDYNAMO_OPCODE
#undef MINIDYNAMO_INTRINSIC
#undef MINIDYNAMO_NUMBER
  // From 3.13 on these two are no instructions of their own: LOAD_FAST loads cells too, LOAD_CONST names of keywords.
  auto write_as = [&table](Op op, Op other) {
    Encoding& encoding = table[static_cast<size_t>(op)];
    if (encoding.form == Form::Unknown) encoding = table[static_cast<size_t>(other)];
  };
  write_as(Op::LOAD_CLOSURE, Op::LOAD_FAST);
  write_as(Op::KW_NAMES, Op::LOAD_CONST);
  return table;
}
inline constexpr std::array<Encoding, kOpCount> kEncodings = make_encodings();

// From 3.13 on these take a bool, and TO_BOOL stands before them. In the neutral set they ask for the truth themselves.
constexpr bool asks_for_truth(Op op) noexcept {
  return op == Op::POP_JUMP_IF_FALSE || op == Op::POP_JUMP_IF_TRUE || op == Op::UNARY_NOT;
}

constexpr const Encoding& encoding_of(Op op) noexcept { return kEncodings[static_cast<size_t>(op)]; }

}  // namespace minidynamo::raw
