// The assembler: neutral instructions back to a code object of the running CPython.
//
// Jumps start in their narrowest form; instructions only ever grow, and so do distances, until all fit: the search
// ends. A backward jump to SEND is the loop of `yield from` and `await`: it becomes the form that no signal handler may
// interrupt, as the compiler has it (an interrupt there would be raised in the outer generator instead of the inner
// one).
#include <algorithm>

#include "bytecode/exception_table.h"
#include "bytecode/instruction.h"
#include "bytecode/location_table.h"
#include "bytecode/op_facts.h"
#include "bytecode/opcodes.h"
#include "bytecode/stack_depth.h"
#include "python/code_object.h"

namespace minidynamo {
namespace {

int32_t prefix_units(uint32_t argument) noexcept {
  return (argument > 0xFF) + (argument > 0xFFFF) + (argument > 0xFFFFFF);
}

class Assembler {
 public:
  explicit Assembler(const Bytecode& bytecode)
      : bytecode_(bytecode), count_(static_cast<int32_t>(bytecode.instructions.size())) {}

  Ref run() {
    StackDepths depths;
    if (!compute_stack_depths(bytecode_, depths) || !encode()) return nullptr;
    lay_out();
    LocationWriter locations(bytecode_.first_line);
    write_instructions(locations);
    write_regions();

    CodeView parts;
    parts.instructions = code_;
    parts.location_table = locations.bytes();
    parts.exception_table = exceptions_;
    parts.localsplus_kinds = bytecode_.localsplus_kinds;
    parts.consts = bytecode_.consts.get();
    parts.names = bytecode_.names.get();
    parts.localsplus_names = bytecode_.localsplus_names.get();
    parts.filename = bytecode_.filename.get();
    parts.name = bytecode_.name.get();
    parts.qualname = bytecode_.qualname.get();
    parts.argcount = bytecode_.argcount;
    parts.posonlyargcount = bytecode_.posonlyargcount;
    parts.kwonlyargcount = bytecode_.kwonlyargcount;
    parts.flags = bytecode_.flags;
    parts.first_line = bytecode_.first_line;
    parts.stack_size = depths.maximum;
    return make_code(parts);
  }

 private:
  struct Encoded {
    uint8_t opcode;
    uint8_t caches;
    uint32_t argument;  // of a jump: the distance, grown as the layout is found
  };

  // Opcodes and arguments; jumps get their direction, and no distance yet.
  bool encode() {
    encoded_.reserve(count_);
    for (int32_t index = 0; index < count_; ++index) {
      const Instruction& instruction = bytecode_.instructions[index];
      const raw::Encoding& encoding = raw::encoding_of(instruction.op);
      Encoded encoded{encoding.plain, encoding.caches, static_cast<uint32_t>(instruction.arg)};
      if (is_jump(instruction.op)) {
        encoded.argument = 0;
        if (instruction.target <= index) {
          const bool sends = bytecode_.instructions[instruction.target].op == Op::SEND;
          encoded.opcode = sends && encoding.no_interrupt ? encoding.no_interrupt : encoding.backward;
        }
        jumps_.push_back(index);
      } else if (!argument_is_valid(instruction)) {
        return fail(index, "its argument is out of range");
      } else if (instruction.op == Op::LOAD_GLOBAL) {
        encoded.argument = encoded.argument << 1 | (instruction.push_null ? 1 : 0);
      }
      if (encoded.opcode == 0 && instruction.op != Op::NOP) return fail(index, "it has no such form in this CPython");
      encoded_.push_back(encoded);
    }
    return true;
  }

  bool argument_is_valid(const Instruction& instruction) const noexcept {
    Py_ssize_t limit = INT32_MAX;
    switch (operand(instruction.op)) {
      case Operand::Const:
        limit = PyTuple_GET_SIZE(bytecode_.consts.get());
        break;
      case Operand::Name:
        limit = PyTuple_GET_SIZE(bytecode_.names.get());
        break;
      case Operand::Local:
        limit = static_cast<Py_ssize_t>(bytecode_.localsplus_kinds.size());
        break;
      default:
        break;
    }
    return instruction.arg >= 0 && instruction.arg < limit;
  }

  int32_t size_of(int32_t index) const noexcept {
    const Encoded& encoded = encoded_[index];
    const int32_t prefix = prefix_units(encoded.argument);
    const int32_t size = prefix + 1 + encoded.caches;
    return is_call(index) ? size + prefix + 1 + raw::kPrecallCaches : size;
  }

  bool is_call(int32_t index) const noexcept { return bytecode_.instructions[index].op == Op::CALL; }

  // Where every instruction starts, in code units; distances of all jumps.
  void lay_out() {
    starts_.assign(count_ + 1, 0);
    for (bool grown = true; grown;) {
      grown = false;
      for (int32_t index = 0; index < count_; ++index) starts_[index + 1] = starts_[index] + size_of(index);
      for (const int32_t index : jumps_) {
        const int32_t target = bytecode_.instructions[index].target;
        const int32_t after = starts_[index + 1] - encoded_[index].caches;
        const int32_t distance = target > index ? starts_[target] - after : after - starts_[target];
        const auto needed = static_cast<uint32_t>(distance);
        grown |= prefix_units(needed) > prefix_units(encoded_[index].argument);
        encoded_[index].argument = needed;
      }
    }
  }

  void unit(uint8_t opcode, uint8_t argument) {
    code_.push_back(opcode);
    code_.push_back(argument);
  }

  void instruction(uint8_t opcode, uint32_t argument, int caches) {
    for (int prefixes = prefix_units(argument); prefixes > 0; --prefixes) {
      unit(raw::kExtendedArg, static_cast<uint8_t>(argument >> (8 * prefixes)));
    }
    unit(opcode, static_cast<uint8_t>(argument));
    for (; caches > 0; --caches) unit(0, 0);
  }

  void write_instructions(LocationWriter& locations) {
    code_.reserve(2 * static_cast<size_t>(starts_[count_]));
    for (int32_t index = 0; index < count_; ++index) {
      const Encoded& encoded = encoded_[index];
      const Position& position = bytecode_.instructions[index].position;
      int32_t units = size_of(index);
      if (is_call(index)) {
        instruction(raw::kPrecall, encoded.argument, raw::kPrecallCaches);
        const int32_t precall_units = prefix_units(encoded.argument) + 1 + raw::kPrecallCaches;
        locations.add(position, precall_units);
        units -= precall_units;
      }
      instruction(encoded.opcode, encoded.argument, encoded.caches);
      locations.add(position, units);
    }
  }

  void write_regions() {
    for (const ExceptionRegion& region : bytecode_.regions) {
      if (region.start == region.end) continue;
      write_exception_row(
          {starts_[region.start], starts_[region.end], starts_[region.target], region.depth, region.push_lasti},
          exceptions_);
    }
  }

  bool fail(int32_t index, const char* reason) {
    PyErr_Format(PyExc_ValueError, "cannot assemble %V: instruction %d (%s): %s", bytecode_.qualname.get(), "bytecode",
                 index, op_name(bytecode_.instructions[index].op), reason);
    return false;
  }

  const Bytecode& bytecode_;
  int32_t count_;
  std::vector<Encoded> encoded_;
  std::vector<int32_t> jumps_, starts_;
  std::vector<uint8_t> code_, exceptions_;
};

}  // namespace

Ref assemble(const Bytecode& bytecode) { return Assembler(bytecode).run(); }

}  // namespace minidynamo
