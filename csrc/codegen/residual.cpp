// Plan -> residual function: the code that runs on every call of a compiled frame, so every instruction counts.
//
// The graph's call is put where its first output is needed, after constants and live values that lie below it on the
// stack; if the outputs then come in the order that UNPACK_SEQUENCE leaves them, they are used from the stack. A frame
// that returns one tensor is six instructions. All instructions carry the function's first line.
#include <string>
#include <unordered_map>

#include "bytecode/instruction.h"
#include "codegen/plan.h"
#include "codegen/schedule.h"
#include "python/code_object.h"

namespace minidynamo {
namespace {

using Kind = PlanStep::Kind;
using Place = Schedule::Place;

constexpr int32_t kInputs = 0, kLive = 1;  // fast locals: the parameters

Ref tuple_of(const std::vector<Ref>& items) {
  Ref tuple = Ref::steal(PyTuple_New(static_cast<Py_ssize_t>(items.size())));
  if (!tuple) return nullptr;
  for (size_t i = 0; i < items.size(); ++i) {
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), Ref(items[i]).release());
  }
  return tuple;
}

class ResidualCode {
 public:
  ResidualCode(const Plan& plan, PyCodeObject* original) : plan_(plan), original_(view_code(original)) {}

  Ref assemble_code() {
    if (!make_schedule(plan_, schedule_)) return nullptr;
    add_local("inputs");
    add_local("live");
    locals_.assign(plan_.steps.size(), -1);
    output_locals_.assign(plan_.output_count, -1);
    emit_body();
    insert_graph_call();
    return failed_ ? Ref() : assemble_bytecode();
  }

 private:
  void emit(Op op, int32_t arg = 0, bool push_null = false) {
    body_.push_back({op, push_null, arg, -1, -1, position()});
  }
  Position position() const noexcept { return {original_.first_line, original_.first_line, -1, -1}; }

  void emit_body() {
    for (ValueId id = 0; id < plan_.steps.size(); ++id) {
      const Place place = schedule_.places[id];
      if (place == Place::Local) {
        evaluate(id);
        locals_[id] = add_local("v" + std::to_string(id));
        emit(Op::STORE_FAST, locals_[id]);
      } else if (place == Place::Statement) {
        evaluate(id);
      }
    }
    if (plan_.result == kNoValue) {
      emit(Op::LOAD_CONST, constant(Py_None));
    } else {
      push(plan_.result);
    }
    emit(Op::RETURN_VALUE);
  }

  void push(ValueId id) {
    if (locals_[id] >= 0) {
      emit(Op::LOAD_FAST, locals_[id]);
    } else {
      evaluate(id);
    }
  }

  // Leaves the step's value on the stack; an effect leaves nothing.
  void evaluate(ValueId id) {
    const PlanStep& step = plan_.steps[id];
    if (step.kind == Kind::Call || step.kind == Kind::CallEffect) {
      emit(Op::PUSH_NULL);
      emit(Op::LOAD_CONST, constant(step.object.get()));
    }
    const OperandOrder operands(step);
    for (size_t i = 0; i < operands.size(); ++i) push(operands[i]);
    const auto count = static_cast<int32_t>(operands.size());
    switch (step.kind) {
      case Kind::Constant:
        emit(Op::LOAD_CONST, constant(step.object.get()));
        break;
      case Kind::Live:
        emit(Op::LOAD_FAST, kLive);
        emit(Op::LOAD_CONST, small_int(step.index));
        emit(Op::BINARY_SUBSCR);
        break;
      case Kind::Output:
        emit(Op::LOAD_FAST, output_local(step.index));
        break;
      case Kind::Tuple:
        emit(Op::BUILD_TUPLE, count);
        break;
      case Kind::List:
        emit(Op::BUILD_LIST, count);
        break;
      case Kind::Set:
        emit(Op::BUILD_SET, count);
        break;
      case Kind::Dict:
        emit(Op::BUILD_MAP, count / 2);
        break;
      case Kind::Slice:
        emit(Op::BUILD_SLICE, count);
        break;
      case Kind::Call:
        emit(Op::CALL, count);
        break;
      case Kind::CallEffect:
        emit(Op::CALL, count);
        emit(Op::POP_TOP);
        break;
      case Kind::SetAttribute:
        if (!OperandOrder::sets_by_name(step)) emit(Op::SWAP, 2);
        emit(Op::STORE_ATTR, name(step.object));
        break;
      case Kind::DeleteAttribute:
        emit(Op::DELETE_ATTR, name(step.object));
        break;
      case Kind::SetItem:
        emit(Op::STORE_SUBSCR);
        break;
      case Kind::DeleteItem:
        emit(Op::DELETE_SUBSCR);
        break;
    }
  }

  int32_t output_local(uint32_t output) {
    int32_t& local = output_locals_[output];
    if (local < 0) {
      local = add_local("out" + std::to_string(output));
      outputs_by_local_.emplace(local, output);
    }
    return local;
  }

  // Nothing that the graph's call could see, or that could see it.
  static bool is_invisible(Op op) noexcept {
    switch (op) {
      case Op::PUSH_NULL:
      case Op::LOAD_CONST:
      case Op::LOAD_FAST:
      case Op::STORE_FAST:
      case Op::BINARY_SUBSCR:  // of `live`
      case Op::BUILD_TUPLE:
      case Op::BUILD_LIST:
      case Op::BUILD_SLICE:
        return true;
      default:
        return false;
    }
  }

  // The output that an instruction of the body loads, or -1.
  int32_t output_loaded(size_t index) const noexcept {
    if (index >= body_.size() || body_[index].op != Op::LOAD_FAST) return -1;
    const auto found = outputs_by_local_.find(body_[index].arg);
    return found == outputs_by_local_.end() ? -1 : static_cast<int32_t>(found->second);
  }
  bool takes_from_stack(size_t index, uint32_t output) const noexcept {
    return output_loaded(index) == static_cast<int32_t>(output) && schedule_.output_uses[output] == 1;
  }

  void insert_graph_call() {
    if (!plan_.calls_graph) return;
    size_t at = 0;  // where the call goes
    while (at < body_.size() && is_invisible(body_[at].op) && output_loaded(at) < 0) ++at;
    if (output_loaded(at) < 0) at = 0;

    std::vector<Instruction> after(body_.begin() + static_cast<ptrdiff_t>(at), body_.end());
    const uint32_t count = plan_.output_count;
    const bool any_used = !outputs_by_local_.empty();
    bool all_on_stack = count >= 1 && count <= 3;
    for (uint32_t i = 0; i < count && all_on_stack; ++i) all_on_stack = takes_from_stack(at + i, i);
    const bool last_on_stack = !all_on_stack && count > 0 && takes_from_stack(at, count - 1);

    body_.resize(at);
    emit(Op::LOAD_GLOBAL, name(Ref::steal(PyUnicode_FromString(plan_.compiled_name.c_str()))), true);
    emit(Op::LOAD_FAST, kInputs);
    emit(Op::CALL_FUNCTION_EX, 0);
    size_t loaded = 0;  // instructions of `after` that the stack makes superfluous
    if (!any_used) {
      emit(Op::POP_TOP);
    } else {
      emit(Op::UNPACK_SEQUENCE, static_cast<int32_t>(count));
      if (all_on_stack) {
        if (count > 1) emit(Op::SWAP, static_cast<int32_t>(count));  // for up to three, that reverses
        loaded = count;
      } else {
        for (uint32_t i = 0; i < count - (last_on_stack ? 1 : 0); ++i) {
          output_locals_[i] < 0 ? emit(Op::POP_TOP) : emit(Op::STORE_FAST, output_locals_[i]);
        }
        loaded = last_on_stack ? 1 : 0;
      }
    }
    body_.insert(body_.end(), after.begin() + static_cast<ptrdiff_t>(loaded), after.end());
  }

  Ref assemble_bytecode() {
    Bytecode bytecode;
    bytecode.instructions.reserve(body_.size() + 1);
    bytecode.instructions.push_back({Op::RESUME, false, 0, -1, -1, position()});
    bytecode.instructions.insert(bytecode.instructions.end(), body_.begin(), body_.end());
    bytecode.consts = tuple_of(consts_);
    bytecode.names = tuple_of(names_);
    bytecode.localsplus_names = tuple_of(local_names_);
    if (!bytecode.consts || !bytecode.names || !bytecode.localsplus_names) return nullptr;
    bytecode.localsplus_kinds.assign(local_names_.size(), kFastLocal);
    bytecode.filename = Ref::borrow(original_.filename);
    bytecode.name = Ref::borrow(original_.name);
    bytecode.qualname = Ref::borrow(original_.qualname);
    bytecode.argcount = 2;
    bytecode.flags = CO_OPTIMIZED | CO_NEWLOCALS;
    bytecode.first_line = original_.first_line;
    return assemble(bytecode);
  }

  // Indices into the code object's tables. A failure leaves the Python error and is noticed at the end.
  int32_t constant(PyObject* object) {
    const auto [entry, is_new] = const_indices_.try_emplace(object, static_cast<int32_t>(consts_.size()));
    if (is_new) consts_.push_back(Ref::borrow(object));
    return entry->second;
  }
  int32_t small_int(uint32_t value) {
    const Ref number = Ref::steal(PyLong_FromUnsignedLong(value));
    failed_ |= !number;
    return number ? constant(number.get()) : 0;
  }
  int32_t name(Ref text) {
    if (!text) {
      failed_ = true;
      return 0;
    }
    PyObject* interned = text.release();
    PyUnicode_InternInPlace(&interned);
    const Ref owned = Ref::steal(interned);
    for (size_t i = 0; i < names_.size(); ++i) {
      if (names_[i] == owned) return static_cast<int32_t>(i);
    }
    names_.push_back(owned);
    return static_cast<int32_t>(names_.size() - 1);
  }
  int32_t add_local(const std::string& text) {
    Ref local_name = Ref::steal(PyUnicode_InternFromString(text.c_str()));
    failed_ |= !local_name;
    local_names_.push_back(std::move(local_name));
    return static_cast<int32_t>(local_names_.size() - 1);
  }

  const Plan& plan_;
  const CodeView original_;
  Schedule schedule_;
  std::vector<Instruction> body_;
  std::vector<Ref> consts_, names_, local_names_;
  std::unordered_map<PyObject*, int32_t> const_indices_;
  std::vector<int32_t> locals_;         // by step; -1: not in a variable (yet)
  std::vector<int32_t> output_locals_;  // by output; -1: not needed
  std::unordered_map<int32_t, uint32_t> outputs_by_local_;
  bool failed_ = false;
};

}  // namespace

Ref residual_function(const Plan& plan, PyCodeObject* original, PyObject* globals) {
  const Ref code = ResidualCode(plan, original).assemble_code();
  if (!code) return nullptr;
  return Ref::steal(PyFunction_NewWithQualName(code.get(), globals, view_code(original).qualname));
}

}  // namespace minidynamo
