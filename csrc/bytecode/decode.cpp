// The decoder: one walk over the code units to number the instructions, a second one to read them.
//
// Costs some ten nanoseconds an instruction and makes no Python call for one. A code object that no compiler made
// (unknown opcode, jump into the middle of an instruction, table cut short) decodes to no instructions at all.
#include <memory>

#include "bytecode/exception_table.h"
#include "bytecode/instruction.h"
#include "bytecode/location_table.h"
#include "bytecode/opcodes.h"
#include "python/code/code_object.h"

namespace minidynamo {
namespace raw {

const std::array<Opcode, 256>& opcodes() noexcept {
  static const std::array<Opcode, 256> table = [] {
    std::array<Opcode, 256> numbered{};
#define MINIDYNAMO_OPCODE(number, cache_units, form_name, op_name) \
  numbered[number] = {Op::op_name, Form::form_name, cache_units};
#define MINIDYNAMO_INTRINSIC(...)
#define MINIDYNAMO_NUMBER(...)
#include MINIDYNAMO_OPCODE_TABLE
#undef MINIDYNAMO_OPCODE
#undef MINIDYNAMO_INTRINSIC
#undef MINIDYNAMO_NUMBER
    for (int number = 0; number < 256; ++number) {
      const uint8_t base = base_opcode(static_cast<uint8_t>(number));
      if (numbered[number].form == Form::Unknown) numbered[number] = numbered[base];
    }
    return numbered;
  }();
  return table;
}

const Op* op_of_intrinsic([[maybe_unused]] uint8_t number, [[maybe_unused]] uint32_t argument) noexcept {
#define MINIDYNAMO_OPCODE(...)
#define MINIDYNAMO_INTRINSIC(call_number, its_argument, op_name) \
  if (number == call_number && argument == its_argument) {       \
    static constexpr Op kOp = Op::op_name;                       \
    return &kOp;                                                 \
  }
#define MINIDYNAMO_NUMBER(...)
#include MINIDYNAMO_OPCODE_TABLE
#undef MINIDYNAMO_OPCODE
#undef MINIDYNAMO_INTRINSIC
#undef MINIDYNAMO_NUMBER
  return nullptr;
}

}  // namespace raw

namespace {

using raw::Form;

// From 3.14 on a call with * and no ** has a null in the place of the keywords.
bool is_absent_keywords(std::span<const uint8_t> code, const std::array<raw::Opcode, 256>& opcodes, int32_t unit) {
  const size_t behind = 2 * static_cast<size_t>(unit + 1);
  return opcodes[code[2 * unit]].form == Form::Null && behind < code.size() &&
         opcodes[code[behind]].form == Form::Spread;
}

// True if TO_BOOL has a use of its own (`not not x`): the next instruction is none of those that ask for a truth.
bool is_truth_alone(std::span<const uint8_t> code, const std::array<raw::Opcode, 256>& opcodes, int32_t unit) {
  const raw::Opcode& opcode = opcodes[code[2 * unit]];
  if (raw::kNumberOf_TO_BOOL == 0 || opcode.form != Form::Truth) return false;
  size_t behind = 2 * static_cast<size_t>(unit + 1 + opcode.caches);
  while (behind < code.size() && opcodes[code[behind]].form == Form::Prefix) behind += 2;
  return behind >= code.size() || !raw::asks_for_truth(opcodes[code[behind]].op);
}

// Which instruction each code unit belongs to: prefixes (EXTENDED_ARG, PRECALL, TO_BOOL) and the landings of loops
// (END_FOR, END_SEND) to the one that they introduce; inline caches to none. One more entry for the end of the code.
class UnitMap {
 public:
  UnitMap(std::span<const uint8_t> code, const std::array<raw::Opcode, 256>& opcodes)
      : units_(static_cast<int32_t>(code.size() / 2)), index_(new int32_t[units_ + 1]) {
    for (int32_t unit = 0; unit < units_;) {
      const raw::Opcode& opcode = opcodes[code[2 * unit]];
      const int instructions = is_absent_keywords(code, opcodes, unit) ? 0
                               : is_truth_alone(code, opcodes, unit)   ? 2
                                                                       : raw::instructions_of(opcode.form);
      index_[unit++] = count_;
      for (int cache = opcode.caches; cache > 0 && unit < units_; --cache) index_[unit++] = -1;
      count_ += instructions;
    }
    index_[units_] = count_;
  }
  int32_t units() const noexcept { return units_; }
  int32_t count() const noexcept { return count_; }
  int32_t operator[](int32_t unit) const noexcept { return unit >= 0 && unit <= units_ ? index_[unit] : -1; }

 private:
  int32_t units_, count_ = 0;
  std::unique_ptr<int32_t[]> index_;
};

// Tells the two uses of LOAD_FAST in 3.13 apart: a local's value, or a cell that is in its place by now.
class LocalLoads {
 public:
  explicit LocalLoads(std::span<const uint8_t> kinds) noexcept : kinds_(kinds) {}
  void note_cell(int32_t local) { cells_.push_back(local); }
  Op op_for(int32_t local) const noexcept {
    const uint8_t kind = static_cast<size_t>(local) < kinds_.size() ? kinds_[local] : 0;
    const bool is_cell = kind & kFastFree || (kind & kFastCell && std::ranges::find(cells_, local) != cells_.end());
    return is_cell ? Op::LOAD_CLOSURE : Op::LOAD_FAST;
  }

 private:
  std::span<const uint8_t> kinds_;
  std::vector<int32_t> cells_;
};

bool decode_instructions(const CodeView& view, const UnitMap& map, const std::array<raw::Opcode, 256>& opcodes,
                         std::vector<Instruction>& instructions) {
  instructions.resize(map.count());
  Instruction* next = instructions.data();
  LocationReader locations(view.location_table, view.first_line);
  LocalLoads loads(view.localsplus_kinds);
  bool has_keywords = true;  // no null in their place has been read
  uint32_t high = 0;         // from EXTENDED_ARG
  for (int32_t unit = 0; unit < map.units();) {
    const raw::Opcode& opcode = opcodes[view.instructions[2 * unit]];
    const uint32_t argument = high << 8 | view.instructions[2 * unit + 1];
    const int32_t at = unit;
    unit += 1 + opcode.caches;
    const int32_t after = unit;
    high = 0;
    if (opcode.form == Form::Prefix) {
      high = argument;
      continue;
    }
    if (opcode.form == Form::Ignored) continue;
    const int32_t written = map[after] - map[at];  // how many instructions it stands for
    if (opcode.form == Form::Truth) {
      for (int32_t left = written; left > 0; --left, ++next) {
        next->op = opcode.op;
        next->offset = at * 2;
        next->position = locations.at(at);
      }
      continue;
    }
    if (opcode.form == Form::Null && written == 0) {
      has_keywords = false;
      continue;
    }
    if (opcode.form == Form::FunctionAttribute) {
      if (next == instructions.data() || next[-1].op != Op::MAKE_FUNCTION) return false;
      next[-1].arg |= static_cast<int32_t>(argument);
      continue;
    }
    Instruction& instruction = *next++;
    instruction.op = opcode.op;
    instruction.offset = at * 2;
    instruction.position = locations.at(at);
    const auto distance = static_cast<int32_t>(argument);
    const auto two_locals = [&](auto first) {
      *next = instruction;
      next->arg = distance & 15;
      if (next->op == Op::LOAD_FAST) next->op = loads.op_for(next->arg);
      ++next;
      instruction.arg = distance >> 4;
      instruction.op = first(instruction.arg);
    };
    switch (opcode.form) {
      case Form::Plain:
      case Form::Synonym:
        instruction.arg = static_cast<int32_t>(argument);
        if (instruction.op == Op::MAKE_CELL) loads.note_cell(instruction.arg);
        if (raw::argument_may_be_op(instruction.op))
          if (const Op* own = raw::op_of_intrinsic(base_opcode(view.instructions[2 * at]), argument)) {
            instruction.op = *own;
            instruction.arg = 0;
          }
        break;
      case Form::Name:
        instruction.arg = static_cast<int32_t>(argument >> 1);
        instruction.push_null = argument & 1;
        break;
      case Form::Attribute:
        instruction.arg = static_cast<int32_t>(argument >> 1);
        if (argument & 1) instruction.op = Op::LOAD_METHOD;
        break;
      case Form::Super:
        instruction.arg = static_cast<int32_t>(argument >> 2);
        instruction.has_arguments = argument & 2;
        if (argument & 1) instruction.op = Op::LOAD_SUPER_METHOD;
        break;
      case Form::Comparison:
        instruction.arg = static_cast<int32_t>(argument >> 4);
        break;
      case Form::ComparisonToBool:
        instruction.arg = static_cast<int32_t>(argument >> 5);
        break;
      case Form::Null:
      case Form::Unread:
        break;
      case Form::Spread:
        // The null behind a global is pushed by its load.
        if (&instruction != instructions.data() && std::exchange((&instruction - 1)->push_null, false))
          has_keywords = false;
        instruction.arg = std::exchange(has_keywords, true);
        break;
      case Form::Local:
      case Form::Borrow:
        instruction.arg = distance;
        instruction.op = loads.op_for(distance);
        break;
      case Form::Resume:
        instruction.arg = distance & 3;
        break;
      case Form::Format:
        instruction.arg = view.instructions[2 * at] == raw::kNumberOf_FORMAT_WITH_SPEC ? 4 : 0;
        break;
      case Form::LoadPair:
        two_locals([&](int32_t local) { return loads.op_for(local); });
        break;
      case Form::StorePair:
        two_locals([](int32_t) { return Op::STORE_FAST; });
        break;
      case Form::Keywords: {
        if (&instruction == instructions.data()) return false;
        Instruction& names = *(&instruction - 1);
        if (names.op != Op::LOAD_CONST) return false;
        names.op = Op::KW_NAMES;
        instruction.arg = distance;
        break;
      }
      case Form::ReturnConst:
        *next = instruction;
        ++next;
        instruction.op = Op::LOAD_CONST;
        instruction.arg = static_cast<int32_t>(argument);
        break;
      case Form::Slice:
        *next = instruction;
        ++next;
        instruction.op = Op::BUILD_SLICE;
        instruction.arg = 2;
        break;
      case Form::Forward:
        instruction.target = map[after + distance];
        if (instruction.target < 0 || instruction.target >= map.count()) return false;
        break;
      case Form::Backward:
      case Form::NoInterrupt:
        instruction.target = map[after - distance];
        if (instruction.target < 0) return false;
        break;
      default:
        return false;
    }
  }
  return true;
}

bool decode_regions(const CodeView& view, const UnitMap& map, std::vector<ExceptionRegion>& regions) {
  if (view.exception_table.empty()) return true;
  if (!read_exception_table(view.exception_table, regions)) return false;
  for (ExceptionRegion& region : regions) {
    region.start = map[region.start];
    region.end = map[region.end];
    region.target = map[region.target];
    if (region.start < 0 || region.end < region.start || region.target < 0 || region.target >= map.count())
      return false;
  }
  std::erase_if(regions, [](const ExceptionRegion& region) { return region.start == region.end; });  // a landing's
  return true;
}

}  // namespace

Bytecode decode(PyCodeObject* code) {
  const CodeView view = view_code(code);
  Bytecode bytecode;
  const std::array<raw::Opcode, 256>& opcodes = raw::opcodes();
  const UnitMap map(view.instructions, opcodes);
  if (!decode_instructions(view, map, opcodes, bytecode.instructions) || !decode_regions(view, map, bytecode.regions)) {
    bytecode.instructions.clear();
    bytecode.regions.clear();
  }
  bytecode.consts = Ref::borrow(view.consts);
  bytecode.names = Ref::borrow(view.names);
  bytecode.localsplus_names = Ref::borrow(view.localsplus_names);
  bytecode.localsplus_kinds.assign(view.localsplus_kinds.begin(), view.localsplus_kinds.end());
  bytecode.filename = Ref::borrow(view.filename);
  bytecode.name = Ref::borrow(view.name);
  bytecode.qualname = Ref::borrow(view.qualname);
  bytecode.argcount = view.argcount;
  bytecode.posonlyargcount = view.posonlyargcount;
  bytecode.kwonlyargcount = view.kwonlyargcount;
  bytecode.flags = view.flags;
  bytecode.first_line = view.first_line;
  return bytecode;
}

int32_t Bytecode::index_of_offset(int32_t offset) const noexcept {
  const auto found =
      std::partition_point(instructions.begin(), instructions.end(),
                           [offset](const Instruction& instruction) { return instruction.offset < offset; });
  if (found == instructions.end()) return -1;
  const auto index = static_cast<int32_t>(found - instructions.begin());
  if (found->offset == offset) return index;
  if (offset < 0 || offset % 2 != 0) return -1;
  if (index == 0) return index;  // a prefix of the first instruction
  const Instruction& before = *(found - 1);
  const bool is_second_of_one = index > 1 && instructions[index - 2].offset == before.offset;  // and has no caches
  const bool has_names = index > 1 && instructions[index - 2].op == Op::KW_NAMES && raw::kNumberOf_CALL_KW != 0;
  const uint8_t number = has_names ? uint8_t{raw::kNumberOf_CALL_KW} : raw::encoding_of(before.op).plain;
  const int32_t caches = is_second_of_one ? 0 : raw::kCaches[number];
  return offset < before.offset + 2 * (1 + caches) ? -1 : index;
}

}  // namespace minidynamo
