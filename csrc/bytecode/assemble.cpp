// The assembler: neutral instructions back to a code object of the running CPython.
//
// Jumps start in their narrowest form; instructions only ever grow, and so do distances, until all fit: the search
// ends. A backward jump to SEND is the loop of `yield from` and `await`: it becomes the form that no signal handler may
// interrupt, as the compiler has it (an interrupt there would be raised in the outer generator instead of the inner
// one).
//
// From 3.12 on FOR_ITER and SEND leave what they iterate over on the stack where they jump, and END_FOR or END_SEND
// takes it off, which a specialized FOR_ITER or SEND of a generator relies on. These landings stand before the
// instruction that the neutral jump leads to; whatever else leads there passes them by. From 3.13 on END_FOR takes off
// one value of two, and a POP_TOP behind it the other (POP_ITER from 3.14 on).
#include <algorithm>
#include <bit>
#include <optional>
#include <unordered_map>

#include "bytecode/exception_table.h"
#include "bytecode/instruction.h"
#include "bytecode/location_table.h"
#include "bytecode/op_facts.h"
#include "bytecode/opcodes.h"
#include "bytecode/stack_depth.h"
#include "python/code/code_object.h"

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
    find_landings();
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
    parts.stack_size = depths.maximum + (raw::kNumberOf_CALL_KW != 0);  // the names of keywords, or their absence
    return make_code(parts);
  }

 private:
  struct Encoded {
    uint8_t opcode;
    uint8_t caches;
    uint32_t argument;   // a jump's distance, grown as the layout is found
    uint8_t around = 0;  // a conditional jump past it, with which it makes one back; 0: none
  };

  // The END_FOR and END_SEND before an instruction that FOR_ITER or SEND leads to, with jumps past them for other
  // control flow. All in code units; the places count from where the first begins, -1 stands for none.
  struct Landings {
    int32_t skip = 0;  // true if there is a jump for what comes from the instruction before
    int32_t end_for = -1, end_send = -1;
    int32_t size = 0;
  };
  static constexpr bool kHasLandings = raw::kNumberOf_END_FOR != 0;
  static constexpr int32_t kEndForUnits = 1 + raw::kCaches[raw::kNumberOf_END_FOR];
  static constexpr uint8_t kPopIterator =
      raw::kNumberOf_POP_ITER != 0 ? uint8_t{raw::kNumberOf_POP_ITER} : raw::encoding_of(Op::POP_TOP).plain;

  // Opcodes and arguments; jumps get their direction, and no distance yet.
  bool encode() {
    encoded_.reserve(count_);
    for (int32_t index = 0; index < count_; ++index) {
      const Instruction& instruction = bytecode_.instructions[index];
      const raw::Encoding& encoding = raw::encoding_of(instruction.op);
      Encoded encoded{encoding.plain, 0, 0};
      if (is_jump(instruction.op)) {
        if (instruction.target <= index) {
          const bool sends = bytecode_.instructions[instruction.target].op == Op::SEND;
          encoded.opcode = sends && encoding.no_interrupt ? encoding.no_interrupt : encoding.backward;
          if (const std::optional<Op> opposite = opposite_of(instruction.op); opposite && !encoding.backward) {
            encoded.opcode = raw::encoding_of(Op::JUMP).backward;
            encoded.around = raw::encoding_of(*opposite).plain;
          }
        }
        jumps_.push_back(index);
      } else if (!argument_is_valid(instruction)) {
        return fail(index, "its argument is out of range");
      } else {
        encoded.argument = raw_argument(instruction, encoding);
        if (kNeedsCheck && instruction.op == Op::LOAD_FAST && !is_always_bound(instruction.arg))
          encoded.opcode = raw::kNumberOf_LOAD_FAST_CHECK;
        if (has_names_on_stack(index)) encoded.opcode = raw::kNumberOf_CALL_KW;
        if (encoding.form == raw::Form::Format) encoded.opcode = number_of_format(instruction.arg);
      }
      if (encoded.opcode == 0 && instruction.op != Op::NOP) return fail(index, "it has no such form in this CPython");
      encoded.caches = raw::kCaches[encoded.opcode];
      encoded_.push_back(encoded);
    }
    return true;
  }

  // From 3.13 on the names of keywords are a constant on the stack.
  bool has_names_on_stack(int32_t index) const noexcept {
    return raw::kNumberOf_CALL_KW != 0 && op_of(index) == Op::CALL && index > 0 && op_of(index - 1) == Op::KW_NAMES;
  }

  // From 3.13 on a conversion is an instruction of its own.
  static uint8_t number_of_format(int32_t argument) noexcept {
    if (argument == 0) return raw::kNumberOf_FORMAT_SIMPLE;
    return argument == 4 ? raw::kNumberOf_FORMAT_WITH_SPEC : 0;
  }

  // From 3.12 on conditional jumps lead forward.
  static std::optional<Op> opposite_of(Op op) noexcept {
    switch (op) {
      case Op::POP_JUMP_IF_FALSE:
        return Op::POP_JUMP_IF_TRUE;
      case Op::POP_JUMP_IF_TRUE:
        return Op::POP_JUMP_IF_FALSE;
      case Op::POP_JUMP_IF_NONE:
        return Op::POP_JUMP_IF_NOT_NONE;
      case Op::POP_JUMP_IF_NOT_NONE:
        return Op::POP_JUMP_IF_NONE;
      default:
        return std::nullopt;
    }
  }

  // LOAD_FAST of 3.12 and later takes the local for bound.
  static constexpr bool kNeedsCheck = raw::kNumberOf_LOAD_FAST_CHECK != 0;

  // A parameter that nothing unbinds.
  bool is_always_bound(int32_t local) const {
    if (!unbound_found_) {
      unbound_found_ = true;
      for (const Instruction& instruction : bytecode_.instructions)
        if (instruction.op == Op::DELETE_FAST || instruction.op == Op::LOAD_FAST_AND_CLEAR)
          unbound_.push_back(instruction.arg);
    }
    const int32_t parameters = bytecode_.argcount + bytecode_.kwonlyargcount + ((bytecode_.flags & CO_VARARGS) != 0) +
                               ((bytecode_.flags & CO_VARKEYWORDS) != 0);
    return local < parameters && std::ranges::find(unbound_, local) == unbound_.end();
  }

  static uint32_t raw_argument(const Instruction& instruction, const raw::Encoding& encoding) noexcept {
    // By operator; which results of a comparison make it true, for the interpreter's specialization.
    static constexpr uint32_t kComparisonMasks[] = {2, 2 | 8, 8, 1 | 2 | 4, 4, 4 | 8};
    const auto argument = static_cast<uint32_t>(instruction.arg);
    switch (encoding.form) {
      case raw::Form::Name:
        return argument << 1 | (instruction.push_null ? 1 : 0);
      case raw::Form::Attribute:
        return argument << 1 | (instruction.op == Op::LOAD_METHOD ? 1 : 0);
      case raw::Form::Super:
        return argument << 2 | (instruction.has_arguments ? 2 : 0) | (instruction.op == Op::LOAD_SUPER_METHOD ? 1 : 0);
      case raw::Form::Comparison:
        return argument << 4 | kComparisonMasks[argument];
      case raw::Form::ComparisonToBool:
        return argument << 5 | kComparisonMasks[argument];
      case raw::Form::Format:
      case raw::Form::Spread:
        return 0;
      default:
        if (kHasFunctionAttributes && instruction.op == Op::MAKE_FUNCTION) return 0;
        return encoding.intrinsic ? encoding.intrinsic : argument;
    }
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
      case Operand::Comparison:
        limit = 6;
        break;
      default:
        break;
    }
    return instruction.arg >= 0 && instruction.arg < limit;
  }

  int32_t size_of(int32_t index) const noexcept {
    const Encoded& encoded = encoded_[index];
    const int32_t prefix = prefix_units(encoded.argument);
    int32_t size = prefix + 1 + encoded.caches;
    if (has_precall(index)) size += prefix + 1 + raw::kPrecallCaches;
    if (has_end_send(index)) ++size;
    if (has_to_bool(index)) size += kToBoolUnits;
    size += lacks_keywords(index);
    size += std::popcount(function_attributes(index));
    if (encoded.around) size += 1 + raw::kCaches[encoded.around];
    return size;
  }

  Op op_of(int32_t index) const noexcept { return bytecode_.instructions[index].op; }
  bool has_precall(int32_t index) const noexcept { return raw::kNumberOf_PRECALL != 0 && op_of(index) == Op::CALL; }
  static constexpr int32_t kToBoolUnits = 1 + raw::kCaches[raw::kNumberOf_TO_BOOL];
  bool has_to_bool(int32_t index) const noexcept {
    return raw::kNumberOf_TO_BOOL != 0 && raw::asks_for_truth(op_of(index));
  }
  // From 3.14 on a call with * and ** has a null on the stack where there are no keywords.
  bool lacks_keywords(int32_t index) const noexcept {
    const Instruction& instruction = bytecode_.instructions[index];
    return raw::encoding_of(instruction.op).form == raw::Form::Spread && !(instruction.arg & 1);
  }
  // From 3.13 on a function gets its defaults, its closure and so on one by one, the topmost on the stack first.
  static constexpr uint32_t kFunctionAttributes[] = {8, 16, 4, 2, 1};
  static constexpr bool kHasFunctionAttributes = raw::kNumberOf_SET_FUNCTION_ATTRIBUTE != 0;
  uint32_t function_attributes(int32_t index) const noexcept {
    const Instruction& instruction = bytecode_.instructions[index];
    const bool sets = kHasFunctionAttributes && instruction.op == Op::MAKE_FUNCTION;
    return sets ? static_cast<uint32_t>(instruction.arg) : 0;
  }
  // CLEANUP_THROW leaves a null below its value. The END_SEND of the next instruction's landing takes that off, or else
  // one of its own.
  bool has_end_send(int32_t index) const noexcept {
    if (op_of(index) != Op::CLEANUP_THROW) return false;
    const auto behind = landings_.find(index + 1);
    return behind == landings_.end() || behind->second.skip != 0;
  }

  void find_landings() {
    if (!kHasLandings) return;
    for (const int32_t index : jumps_) {
      const Op op = op_of(index);
      if (op != Op::FOR_ITER && op != Op::SEND) continue;
      const int32_t target = bytecode_.instructions[index].target;
      Landings& landings = landings_[target];
      int32_t& mine = op == Op::FOR_ITER ? landings.end_for : landings.end_send;
      if (mine >= 0) continue;
      const bool is_passed = target > 0 && !ends_flow(op_of(target - 1)) &&
                             !(op == Op::SEND && op_of(target - 1) == Op::CLEANUP_THROW && landings.size == 0);
      if (landings.size == 0)
        landings.size = landings.skip = is_passed ? 1 : 0;
      else
        ++landings.size;  // past the second one
      mine = landings.size;
      landings.size += op == Op::FOR_ITER ? kEndForUnits : 1;
    }
  }

  int32_t landings_before(int32_t index) const noexcept {
    const auto found = landings_.find(index);
    return found == landings_.end() ? 0 : found->second.size;
  }

  // The code unit that a jump leads to: a landing of its kind, or the instruction itself.
  int32_t destination(int32_t index) const noexcept {
    const int32_t target = bytecode_.instructions[index].target;
    if (const auto found = landings_.find(target); found != landings_.end()) {
      const int32_t begin = starts_[target] - found->second.size;
      if (op_of(index) == Op::FOR_ITER) return begin + found->second.end_for;
      if (op_of(index) == Op::SEND) return begin + found->second.end_send;
    }
    return starts_[target];
  }

  // Where every instruction starts, in code units; distances of all jumps.
  void lay_out() {
    starts_.assign(count_ + 1, 0);
    for (bool grown = true; grown;) {
      grown = false;
      int32_t unit = 0;
      for (int32_t index = 0; index < count_; ++index) {
        starts_[index] = unit + landings_before(index);
        unit = starts_[index] + size_of(index);
      }
      starts_[count_] = unit;
      for (const int32_t index : jumps_) {
        const int32_t after = starts_[index] + size_of(index);  // its caches too
        const int32_t to = destination(index);
        const int32_t distance = to >= after ? to - after : after - to;
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
      unit(raw::kNumberOf_EXTENDED_ARG, static_cast<uint8_t>(argument >> (8 * prefixes)));
    }
    unit(opcode, static_cast<uint8_t>(argument));
    for (; caches > 0; --caches) unit(0, 0);
  }

  void write_landings(const Landings& landings, const Position& position, LocationWriter& locations) {
    for (int32_t at = 0; at < landings.size; ++at) {
      if (at == landings.end_for) {
        unit(raw::kNumberOf_END_FOR, 0);
        for (; at + 1 < landings.end_for + kEndForUnits; ++at) unit(kPopIterator, 0);
      } else if (at == landings.end_send) {
        unit(raw::kNumberOf_END_SEND, 0);
      } else {
        unit(raw::encoding_of(Op::JUMP).plain, static_cast<uint8_t>(landings.size - at - 1));
      }
    }
    locations.add(position, landings.size);
  }

  void write_instructions(LocationWriter& locations) {
    code_.reserve(2 * static_cast<size_t>(starts_[count_]));
    for (int32_t index = 0; index < count_; ++index) {
      const Encoded& encoded = encoded_[index];
      const Position& position = bytecode_.instructions[index].position;
      if (const auto found = landings_.find(index); found != landings_.end())
        write_landings(found->second, position, locations);
      int32_t units = size_of(index);
      if (has_precall(index)) {
        instruction(raw::kNumberOf_PRECALL, encoded.argument, raw::kPrecallCaches);
        const int32_t precall_units = prefix_units(encoded.argument) + 1 + raw::kPrecallCaches;
        locations.add(position, precall_units);
        units -= precall_units;
      }
      if (has_to_bool(index)) instruction(raw::kNumberOf_TO_BOOL, 0, kToBoolUnits - 1);
      if (lacks_keywords(index)) unit(raw::encoding_of(Op::PUSH_NULL_BELOW).plain, 0);
      if (encoded.around) {
        const int32_t past = prefix_units(encoded.argument) + 1 + encoded.caches;
        instruction(encoded.around, static_cast<uint32_t>(past), raw::kCaches[encoded.around]);
      }
      instruction(encoded.opcode, encoded.argument, encoded.caches);
      for (const uint32_t flag : kFunctionAttributes)
        if (function_attributes(index) & flag) unit(raw::kNumberOf_SET_FUNCTION_ATTRIBUTE, static_cast<uint8_t>(flag));
      if (has_end_send(index)) unit(raw::kNumberOf_END_SEND, 0);
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
  std::unordered_map<int32_t, Landings> landings_;  // by the instruction that they stand before
  mutable std::vector<int32_t> unbound_;            // locals that an instruction unbinds
  mutable bool unbound_found_ = false;
  std::vector<int32_t> jumps_, starts_;
  std::vector<uint8_t> code_, exceptions_;
};

}  // namespace

Ref assemble(const Bytecode& bytecode) { return Assembler(bytecode).run(); }

}  // namespace minidynamo
