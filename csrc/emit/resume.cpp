#include "emit/resume.h"

#include <algorithm>
#include <map>
#include <memory>
#include <span>
#include <unordered_set>

#include "bytecode/op_facts.h"
#include "emit/code_builder.h"
#include "python/code/code_extra.h"
#include "python/code/code_object.h"

namespace minidynamo {
namespace {

using ParameterKind = ResumeParameter::Kind;
using PlaceKind = ResumePlace::Kind;

class ResumeCode {
 public:
  ResumeCode(const CodeInfo& original, ResumePlace place, const std::vector<bool>& passed, ResumeFunction& made)
      : original_(original), code_(original.bytecode), place_(place), passed_(passed), made_(made) {}

  Ref assemble_code() {
    position_ = code_.instructions[place_.instruction].position;
    choose_parameters();
    lay_out_locals();
    emit_prologue();
    emit_landing();
    append_original();
    const bool has_new_consts = consts_.size() > static_cast<size_t>(PyTuple_GET_SIZE(code_.consts.get()));
    bytecode_.consts = has_new_consts ? tuple_from(consts_) : code_.consts;
    bytecode_.names = code_.names;
    bytecode_.localsplus_names = tuple_from(local_names_);
    bytecode_.filename = code_.filename;
    bytecode_.name = code_.name;  // code that looks at the stack sees the function
    bytecode_.qualname = code_.qualname;
    bytecode_.argcount = place_.is_callee ? 1 : static_cast<int32_t>(made_.parameters.size());
    // Made anew whenever residual code goes on, as a nested function is: its code is guarded where it is an argument.
    bytecode_.flags = (code_.flags & ~(CO_VARARGS | CO_VARKEYWORDS)) | CO_NESTED;
    bytecode_.first_line = code_.first_line;
    return assemble(bytecode_);
  }

 private:
  const CodeInfo& original_;
  const Bytecode& code_;
  const ResumePlace place_;
  const std::vector<bool>& passed_;  // by local of the original, then by slot of the stack if one is Saved
  ResumeFunction& made_;
  Bytecode bytecode_;
  std::vector<Ref> consts_, local_names_;
  std::vector<SlotKind> stack_;  // to be restored
  Position position_;
  int32_t inner_jumps_ = -2;  // the first of the two that stay in the prologue
  int32_t unbound_ = -1;      // a local that never has a value; -1: none is needed
  int32_t start_ = -1;        // the RESUME at which the function starts
  int32_t landing_ = -1;      // where what is raised there goes on; -1: to the caller
  int32_t raised_ = -1;       // two locals for it: the exception, and where it was raised

  bool is_generator() const noexcept {
    return place_.kind == PlaceKind::Suspended || place_.kind == PlaceKind::NotStarted;
  }

  void choose_parameters() {
    stack_ = original_.stack_layout().before(place_.instruction);
    const Instruction& at = code_.instructions[place_.instruction];
    if (place_.kind != PlaceKind::Before) stack_.resize(stack_.size() - stack_inputs(at));
    for (int32_t local = 0; local < original_.locals_count; ++local)
      if (passed_[local]) made_.parameters.push_back({ParameterKind::Local, local});
    bool saved = false;
    for (size_t slot = 0; slot < stack_.size(); ++slot) {
      const bool is_first_saved = stack_[slot] == SlotKind::PreviousException && !std::exchange(saved, true);
      if (!is_first_saved && !is_null(slot))
        made_.parameters.push_back({ParameterKind::Stack, static_cast<int32_t>(slot)});
    }
    if (saved) made_.parameters.push_back({ParameterKind::Handled});
    if (place_.kind == PlaceKind::InCall) {
      made_.parameters.push_back({ParameterKind::Callee});
      made_.parameters.push_back({ParameterKind::Arguments});
    }
  }

  bool is_null(size_t slot) const {
    return stack_[slot] == SlotKind::Null || stack_[slot] == SlotKind::Method || is_unbound(slot);
  }
  // True for a slot that LOAD_FAST_AND_CLEAR saved from a local without a value.
  bool is_unbound(size_t slot) const {
    return stack_[slot] == SlotKind::Saved && !passed_[static_cast<size_t>(original_.locals_count) + slot];
  }

  // Parameters, then the original's other locals and cells, then its free variables, as CPython wants them.
  void lay_out_locals() {
    made_.local_of.assign(original_.locals_count, -1);
    auto add = [&](PyObject* name, uint8_t kind) {
      local_names_.push_back(Ref::borrow(name));
      bytecode_.localsplus_kinds.push_back(kind);
      return static_cast<int32_t>(local_names_.size() - 1);
    };
    auto name_of = [&](int32_t local) { return PyTuple_GET_ITEM(code_.localsplus_names.get(), local); };
    auto is_free = [&](int32_t local) { return (code_.localsplus_kinds[local] & kFastFree) != 0; };
    for (const ResumeParameter& parameter : made_.parameters) {
      if (parameter.kind == ParameterKind::Local) {
        const int32_t local =
            add(name_of(parameter.index), kFastLocal | (code_.localsplus_kinds[parameter.index] & kFastCell));
        if (!is_free(parameter.index)) made_.local_of[parameter.index] = local;
        continue;
      }
      const char* const texts[] = {"", ".stack", ".handled", ".callee", ".its_arguments"};
      std::string text = texts[static_cast<size_t>(parameter.kind)];
      if (parameter.kind == ParameterKind::Stack) text += std::to_string(parameter.index);
      add(Ref::made(PyUnicode_InternFromString(text.c_str())).get(), kFastLocal);
    }
    if (place_.is_callee && local_names_.empty()) add(".arguments"_name, kFastLocal);
    if (code_.region_at(place_.instruction) && !is_generator()) {
      raised_ = add(".raised"_name, kFastLocal);
      add(".raised_at"_name, kFastLocal);
    }
    for (size_t slot = 0; slot < stack_.size() && unbound_ < 0; ++slot)
      if (is_unbound(slot)) unbound_ = add(".unbound"_name, kFastLocal);
    for (const bool cells : {false, true})
      for (int32_t local = 0; local < original_.locals_count; ++local) {
        const bool is_cell = (code_.localsplus_kinds[local] & (kFastLocal | kFastCell)) == kFastCell;
        if (made_.local_of[local] < 0 && !is_free(local) && is_cell == cells)
          made_.local_of[local] = add(name_of(local), code_.localsplus_kinds[local]);
      }
    for (int32_t local = 0; local < original_.locals_count; ++local)
      if (is_free(local)) made_.local_of[local] = add(name_of(local), kFastFree);
  }

  void emit(Op op, int32_t arg = 0, int32_t target = -1) {
    bytecode_.instructions.push_back({.op = op, .arg = arg, .target = target, .position = position_});
  }
  int32_t here() const noexcept { return static_cast<int32_t>(bytecode_.instructions.size()); }
  void take(size_t parameter) {  // moves it to the stack: nothing else holds it then
    emit(Op::LOAD_FAST, static_cast<int32_t>(parameter));
    emit(Op::DELETE_FAST, static_cast<int32_t>(parameter));
  }
  int32_t none() {
    for (size_t i = 0; i < consts_.size(); ++i)
      if (consts_[i].is(Py_None)) return static_cast<int32_t>(i);
    consts_.push_back(Ref::none());
    return static_cast<int32_t>(consts_.size() - 1);
  }

  void emit_prologue() {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(code_.consts.get()); ++i)
      consts_.push_back(Ref::borrow(PyTuple_GET_ITEM(code_.consts.get(), i)));
    if (is_generator()) {
      emit(Op::RETURN_GENERATOR);
      if (place_.kind == PlaceKind::Suspended) emit(Op::POP_TOP);
    }
    if (place_.kind != PlaceKind::NotStarted) {
      start_ = here();
      emit(Op::RESUME);
    }
    if (place_.is_callee) empty_arguments();
    restore_cells();
    restore_stack(stack_.size());
    switch (place_.kind) {
      case PlaceKind::Before:
        emit(Op::JUMP, 0, place_.instruction);
        break;
      case PlaceKind::InCall: {
        const auto as_written = [this](Op op, int32_t arg) { emit(op, arg); };
        begin_call(as_written, [&] { take(made_.parameters.size() - 2); });
        take(made_.parameters.size() - 1);
        end_call(as_written, 1);
        cover(here() - (kCallRaisesBeforeItself ? 2 : 1));  // a load, which never raises
        emit(Op::JUMP, 0, place_.instruction + 1);
        break;
      }
      case PlaceKind::Suspended:
        // Run up to here when the generator is made again, so that it has started and errors can be thrown into it.
        emit(Op::LOAD_CONST, none());
        yield_as_original();
        break;
      case PlaceKind::NotStarted:
        emit(Op::JUMP, 0, place_.instruction + 1);
        break;
    }
  }

  // Their list comes where the first of them belongs: super() looks there.
  void empty_arguments() {
    const auto count = static_cast<int32_t>(made_.parameters.size());
    emit(Op::LOAD_FAST, 0);
    emit(Op::COPY, 1);
    emit(Op::UNPACK_SEQUENCE, count);
    for (int32_t i = 0; i < count; ++i) emit(Op::STORE_FAST, i);
    for (int i = 0; i < 2; ++i) emit(Op::LOAD_CONST, none());
    emit(Op::BUILD_SLICE, 2);
    emit(Op::DELETE_SUBSCR);
  }

  // With the instructions around it that CPython looks at to find what a generator waits for in `yield from`.
  void yield_as_original() {
    const Instruction* const yield = &code_.instructions[place_.instruction];
    const bool delegates = place_.instruction > 0 && yield[-1].op == Op::SEND;
    if (delegates) {
      inner_jumps_ = here();
      emit(Op::JUMP, 0, here() + 2);
      emit(Op::SEND, 0, here() + 4);  // near: throw() knows the last byte of its argument only
    }
    emit(Op::YIELD_VALUE, yield->arg);
    cover(here() - 1);
    emit(Op::RESUME, yield[1].arg);
    emit(Op::JUMP, 0, place_.instruction + 2);
    if (delegates) emit(Op::JUMP, 0, yield[-1].target);
  }

  // A cell lies in its slot as it is; MAKE_CELL tells CPython that it is one.
  void restore_cell(size_t parameter, int32_t local) {
    const auto own = static_cast<int32_t>(parameter);
    if (code_.localsplus_kinds[local] & kFastFree) {
      take(parameter);
      emit(Op::STORE_FAST, made_.local_of[local]);
    } else if (code_.localsplus_kinds[local] & kFastCell) {
      emit(Op::LOAD_FAST, own);
      emit(Op::MAKE_CELL, own);
      emit(Op::STORE_FAST, own);
    }
  }

  void restore_cells() {
    for (size_t i = 0; i < made_.parameters.size(); ++i)
      if (made_.parameters[i].kind == ParameterKind::Local) restore_cell(i, made_.parameters[i].index);
  }

  size_t first_parameter(ParameterKind kind) const {
    size_t i = 0;
    while (i < made_.parameters.size() && made_.parameters[i].kind != kind) ++i;
    return i;
  }

  // The lowest `depth` slots.
  void restore_stack(size_t depth) {
    size_t next = first_parameter(ParameterKind::Stack);
    bool saved = false;
    const auto restore = [&](size_t slot) {
      if (is_unbound(slot)) {
        emit(Op::LOAD_FAST_AND_CLEAR, unbound_);
      } else if (stack_[slot] == SlotKind::PreviousException && !std::exchange(saved, true)) {
        // The exception that the caller handles now.
        emit(Op::LOAD_CONST, none());
        emit(Op::PUSH_EXC_INFO);
        emit(Op::POP_TOP);
        emit(Op::COPY, 1);
        emit(Op::POP_EXCEPT);
      } else {
        take(next++);
      }
    };
    const auto top = static_cast<int32_t>(depth) - 1;
    const bool is_swapped = top > 0 && stack_[top - 1] == SlotKind::MethodSelf && method_of(stack_, top - 1) == top;
    // A method whose object has been popped is about to be popped too: it stands for anything.
    const bool is_left = top >= 0 && stack_[top] == SlotKind::Method && !is_swapped;
    push_slots([this](Op op, int32_t arg) { emit(op, arg); }, depth - is_left,
               [this](size_t slot) { return is_null(slot) && !is_unbound(slot); }, restore, is_swapped);
    if (is_left) emit(Op::LOAD_CONST, none());
    if (!saved) return;
    take(first_parameter(ParameterKind::Handled));
    emit(Op::PUSH_EXC_INFO);
    emit(Op::POP_TOP);
    emit(Op::POP_TOP);
  }

  // A signal's handler may raise when the function starts, before its stack is restored. The handler around the place
  // sees the error, as if it was raised there.
  void emit_landing() {
    if (raised_ < 0) return;
    const ExceptionRegion* region = code_.region_at(place_.instruction);
    landing_ = here();
    emit(Op::STORE_FAST, raised_);
    if (region->push_lasti) emit(Op::STORE_FAST, raised_ + 1);
    if (place_.is_callee) empty_arguments();
    restore_cells();
    restore_stack(region->depth);
    const bool restores_handled =
        std::ranges::count(std::span(stack_).first(region->depth), SlotKind::PreviousException) > 0;
    for (size_t i = 0; i < made_.parameters.size(); ++i) {
      const ResumeParameter& parameter = made_.parameters[i];
      const bool is_taken = parameter.kind == ParameterKind::Local ||
                            (parameter.kind == ParameterKind::Stack && parameter.index < region->depth) ||
                            (parameter.kind == ParameterKind::Handled && restores_handled);
      if (!is_taken) emit(Op::DELETE_FAST, static_cast<int32_t>(i));
    }
    if (region->push_lasti) take(raised_ + 1);
    take(raised_);
    emit(Op::JUMP, 0, region->target);
  }

  // The instruction of the prologue that stands for the original's at the place raises into the same handler.
  void cover(int32_t start) {
    if (const ExceptionRegion* region = code_.region_at(place_.instruction))
      bytecode_.regions.push_back({start, here(), region->target, region->depth, region->push_lasti});
  }

  void append_original() {
    made_.prologue = here();
    for (int32_t i = 0; i < made_.prologue; ++i)
      if (bytecode_.instructions[i].target >= 0 && i != inner_jumps_ && i != inner_jumps_ + 1)
        bytecode_.instructions[i].target += made_.prologue;
    for (ExceptionRegion& region : bytecode_.regions) region.target += made_.prologue;
    if (landing_ >= 0) {
      const bool with_place = code_.region_at(place_.instruction)->push_lasti;
      bytecode_.regions.insert(bytecode_.regions.begin(), {start_, start_ + 1, landing_, 0, with_place});
    }
    for (Instruction instruction : code_.instructions) {
      if (operand(instruction.op) == Operand::Local) instruction.arg = made_.local_of[instruction.arg];
      if (instruction.target >= 0) instruction.target += made_.prologue;
      instruction.offset = -1;
      if (!kRaisingInstructionIsObject && instruction.op == Op::RERAISE) instruction.arg = 0;
      bytecode_.instructions.push_back(std::move(instruction));
    }
    for (const ExceptionRegion& region : code_.regions)
      bytecode_.regions.push_back({region.start + made_.prologue, region.end + made_.prologue,
                                   region.target + made_.prologue, region.depth, region.push_lasti});
  }
};

struct ResumeKey {
  ResumePlace place;
  std::vector<bool> passed;
  // The code of what it calls first. Only compared: if it is gone and another lies there, the two share a resume
  // function, whose guards know what it calls.
  const PyCodeObject* callee = nullptr;
  auto operator<=>(const ResumeKey&) const = default;
};

// A recursion calls itself from as many places as it is deep: from some number on, all its depths share one.
constexpr size_t kMostCallees = 64;

// Those of one original code object, which owns it.
struct ResumeTable {
  PyCodeObject* original;
  std::map<ResumeKey, Ref> codes;

  // The key to use for a callee: of its own, if it has one or there is room for one.
  ResumeKey key(const ResumePlace& place, const std::vector<bool>& passed, const PyCodeObject* callee) const {
    const ResumeKey shared{place, passed}, own{place, passed, callee};
    if (!callee || codes.count(own)) return own;
    const auto first = codes.lower_bound(shared);
    size_t known = 0;
    for (auto at = first; at != codes.end() && at->first.place == place && at->first.passed == passed; ++at) ++known;
    return known < kMostCallees ? own : shared;
  }
};

struct ResumeRegistry {
  std::unordered_set<ResumeTable*> tables;
  long count = 0;
};

ResumeRegistry& registry() {
  static auto* const found = new ResumeRegistry;  // outlives the interpreter's end
  return *found;
}

void free_table(void* data) noexcept {
  auto* table = static_cast<ResumeTable*>(data);
  registry().tables.erase(table);
  delete table;
}

void free_resume_function(void* data) noexcept { delete static_cast<ResumeFunction*>(data); }

CodeSlot& table_slot() noexcept {
  static constinit CodeSlot slot(free_table);
  return slot;
}

CodeSlot& own_slot() noexcept {
  static constinit CodeSlot slot(free_resume_function);
  return slot;
}

ResumeTable* table_of(PyCodeObject* original) {
  if (void* known = table_slot().get(original)) return static_cast<ResumeTable*>(known);
  auto made = std::make_unique<ResumeTable>(ResumeTable{original, {}});
  registry().tables.insert(made.get());
  if (table_slot().set(original, made.get())) return made.release();
  registry().tables.erase(made.get());
  return nullptr;
}

// The line of the instruction, or of the next one that has a line: what CPython adds to end a `with` or `except` has
// none.
int32_t line_at(const Bytecode& bytecode, int32_t instruction) noexcept {
  for (size_t i = instruction; i < bytecode.instructions.size(); ++i)
    if (bytecode.instructions[i].position.line > 0) return bytecode.instructions[i].position.line;
  return -1;
}

}  // namespace

bool is_read_after(const CodeInfo& original, ResumePlace place, int32_t local) {
  return place.kind == PlaceKind::Before ? original.liveness().before(place.instruction, local)
                                         : original.liveness().after(place.instruction, local);
}

const ResumeFunction* resume_function(const CodeInfo& original, ResumePlace place, const std::vector<bool>& passed,
                                      const ResumeFunction* callee) {
  ResumeTable* table = table_of(original.code());
  if (!table) return nullptr;
  const ResumeKey key = table->key(place, passed, callee ? callee->code : nullptr);
  if (const Ref& known = table->codes[key]) return find_resume_function(as_code(known.get()));
  auto made = std::make_unique<ResumeFunction>();
  made->original = Ref::steal(PyWeakref_NewRef(as_object(original.code()), nullptr));
  made->place = place;
  made->line = line_at(original.bytecode, place.instruction);
  Ref code = made->original ? ResumeCode(original, place, passed, *made).assemble_code() : Ref();
  if (!code) return nullptr;
  const int32_t offset = original.bytecode.instructions[place.instruction].offset;
  made->name = Ref::made(PyUnicode_FromFormat("__minidynamo_resume_at_%d_%ld", offset, registry().count++));
  made->code = as_code(code.get());
  // Making it allocates, so another thread may have come first, or a reset: what the table holds now is what counts.
  table = table_of(original.code());
  if (!table) return nullptr;
  Ref& known = table->codes[key];
  if (known) return find_resume_function(as_code(known.get()));
  note_prologue(made->code, made->prologue);
  if (!own_slot().set(made->code, made.get())) return nullptr;
  known = std::move(code);
  return made.release();
}

const ResumeFunction* find_resume_function(PyCodeObject* code) noexcept {
  return static_cast<const ResumeFunction*>(own_slot().get(code));
}

Ref original_of(const ResumeFunction& resume) noexcept {
  PyObject* original = PyWeakref_GET_OBJECT(resume.original.get());
  return original == Py_None ? Ref() : Ref::borrow(original);
}

std::string qualified_name(PyCodeObject* code) {
  const char* name = PyUnicode_AsUTF8(code->co_qualname);
  return name ? name : "?";
}

std::string display_name(PyCodeObject* code) {
  const std::string text = qualified_name(code);
  const ResumeFunction* resume = find_resume_function(code);
  return resume && resume->line > 0 ? text + " from line " + std::to_string(resume->line) : text;
}

Ref code_of_program(PyCodeObject* code) noexcept {
  const ResumeFunction* resume = find_resume_function(code);
  Ref original = resume ? original_of(*resume) : Ref();
  return original ? std::move(original) : Ref::borrow(as_object(code));
}

std::vector<Ref> resume_codes(PyCodeObject* original) {
  std::vector<Ref> codes;
  if (const auto* table = static_cast<const ResumeTable*>(table_slot().get(original)))
    for (const auto& [key, code] : table->codes)
      if (code) codes.push_back(code);
  return codes;
}

void forget_resume_functions() noexcept {
  registry().count = 0;
  // One table may be what keeps another's code object alive.
  while (!registry().tables.empty()) table_slot().set((*registry().tables.begin())->original, nullptr);
}

OriginalPosition original_position(const Frame& frame) {
  const ResumeFunction* resume = find_resume_function(frame.code());
  if (!resume) return {frame.prepared, frame.instruction};
  const auto* original = prepare(as_code(original_of(*resume).get()));
  if (frame.instruction >= resume->prologue) return {original, frame.instruction - resume->prologue, resume};
  const bool is_call = resume->place.kind == PlaceKind::InCall && frame.current().op == Op::CALL;
  return {original, resume->place.instruction, resume, is_call, true};
}

}  // namespace minidynamo
