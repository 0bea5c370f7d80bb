// The decoder: one walk over the code units to number the instructions, a second one to read them.
//
// Costs some ten nanoseconds an instruction and makes no Python call for one. A code object that no compiler made
// (unknown opcode, jump into the middle of an instruction, table cut short) decodes to no instructions at all.
#include <memory>

#include "bytecode/exception_table.h"
#include "bytecode/instruction.h"
#include "bytecode/location_table.h"
#include "bytecode/opcodes.h"
#include "python/code_object.h"

namespace minidynamo {
namespace raw {

const std::array<Opcode, 256>& opcodes() noexcept {
  static const std::array<Opcode, 256> table = [] {
    std::array<Opcode, 256> numbered{};
#define MINIDYNAMO_OPCODE(number, cache_units, form_name, op_name) \
  numbered[number] = {Op::op_name, Form::form_name, cache_units};
#include MINIDYNAMO_OPCODE_TABLE
#undef MINIDYNAMO_OPCODE
    for (int number = 0; number < 256; ++number) {
      const uint8_t base = base_opcode(static_cast<uint8_t>(number));
      if (numbered[number].form == Form::Unknown) numbered[number] = numbered[base];
    }
    return numbered;
  }();
  return table;
}

}  // namespace raw

namespace {

using raw::Form;

// Which instruction each code unit belongs to: prefixes (EXTENDED_ARG, PRECALL) to the one that they introduce; inline
// caches to none. One more entry for the end of the code.
class UnitMap {
 public:
  UnitMap(std::span<const uint8_t> code, const std::array<raw::Opcode, 256>& opcodes)
      : units_(static_cast<int32_t>(code.size() / 2)), index_(new int32_t[units_ + 1]) {
    for (int32_t unit = 0; unit < units_;) {
      const raw::Opcode& opcode = opcodes[code[2 * unit]];
      index_[unit++] = count_;
      for (int cache = opcode.caches; cache > 0 && unit < units_; --cache) index_[unit++] = -1;
      if (opcode.form != Form::Prefix && opcode.form != Form::Ignored) ++count_;
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

bool decode_instructions(const CodeView& view, const UnitMap& map, const std::array<raw::Opcode, 256>& opcodes,
                         std::vector<Instruction>& instructions) {
  instructions.resize(map.count());
  Instruction* next = instructions.data();
  LocationReader locations(view.location_table, view.first_line);
  uint32_t high = 0;  // from EXTENDED_ARG
  for (int32_t unit = 0; unit < map.units();) {
    const raw::Opcode& opcode = opcodes[view.instructions[2 * unit]];
    const uint32_t argument = high << 8 | view.instructions[2 * unit + 1];
    const int32_t after = unit + 1;
    const int32_t at = unit;
    unit = after + opcode.caches;
    high = 0;
    if (opcode.form == Form::Prefix) {
      high = argument;
      continue;
    }
    if (opcode.form == Form::Ignored) continue;
    Instruction& instruction = *next++;
    instruction.op = opcode.op;
    instruction.offset = at * 2;
    instruction.position = locations.at(at);
    const auto distance = static_cast<int32_t>(argument);
    switch (opcode.form) {
      case Form::Plain:
        instruction.arg = static_cast<int32_t>(argument);
        break;
      case Form::Name:
        instruction.arg = static_cast<int32_t>(argument >> 1);
        instruction.push_null = argument & 1;
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
  return offset < before.offset + 2 * (1 + raw::encoding_of(before.op).caches) ? -1 : index;
}

}  // namespace minidynamo
