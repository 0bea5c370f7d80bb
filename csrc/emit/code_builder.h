// A code object being written instruction by instruction: tables of constants, names and locals, labels, handlers.
#pragma once
#include <string>
#include <unordered_map>
#include <vector>

#include "bytecode/instruction.h"
#include "emit/call_code.h"
#include "emit/uninterrupted_call.h"
#include "python/code/lent_function.h"

namespace minidynamo {

class CodeBuilder {
 public:
  using Label = int32_t;

  // Every instruction emitted from now on carries it.
  void at(Position position) noexcept { position_ = position; }
  void emit(Op op, int32_t arg = 0) { instructions_.push_back({op, false, arg, -1, -1, position_}); }
  void emit_jump(Op op, Label target) { instructions_.push_back({op, false, 0, target, -1, position_}); }
  template <typename Push>
  void begin_call(Push&& push_callable) {
    minidynamo::begin_call([this](Op op, int32_t arg) { emit(op, arg); }, push_callable);
  }
  void end_call(int32_t count) {
    minidynamo::end_call([this](Op op, int32_t arg) { emit(op, arg); }, count);
  }
  // One at which CPython looks for no signals (emit/uninterrupted_call.h).
  template <typename Push>
  void begin_uninterrupted_call(Push&& push_callable) {
    load_own(uninterrupted_call());
    push_callable();
  }
  void end_uninterrupted_call(int32_t count) {
    emit(Op::BUILD_TUPLE, count + 1);
    emit(Op::BINARY_OP, kMatrixMultiply);
  }
  Label make_label();
  void bind(Label label) { labels_[label] = static_cast<int32_t>(instructions_.size()); }
  // Begins what handle() is to protect.
  void begin_protected(Label start) {
    bind(start);
    if (kCallRaisesBeforeItself) emit(Op::NOP, 0);
  }
  // Errors raised between two labels go to a third, with the stack cut to `depth` and the exception on top.
  void handle(Label start, Label end, Label target, int32_t depth) { handlers_.push_back({start, end, target, depth}); }

  // An object that may lead to the captured function is no constant of the code, but a free variable (LentFunction).
  void load_constant(PyObject* object);
  void load_own(PyObject* object) { emit(Op::LOAD_CONST, constant(object)); }
  // A free variable by name; `weak`: nothing of ours keeps the object alive.
  void load_variable(const std::string& name, PyObject* object, bool weak) {
    emit(Op::LOAD_DEREF, variable(name, object, weak));
  }
  int32_t variable(const std::string& name, PyObject* object, bool weak);  // the argument of its LOAD_DEREF
  int32_t constant(PyObject* object);
  int32_t name(PyObject* text);
  int32_t add_local(const std::string& text);
  void forget_local(int32_t local) {  // it holds None then
    load_constant(Py_None);
    emit(Op::STORE_FAST, local);
  }
  int32_t locals() const noexcept { return static_cast<int32_t>(locals_.size()); }

  // Instructions put before others afterwards; labels move along.
  std::vector<Instruction>& instructions() noexcept { return instructions_; }
  void insert(size_t index, const std::vector<Instruction>& added, size_t replaced);

  const std::vector<LentFunction::Variable>& variables() const noexcept { return variables_; }

  // Named, placed and qualified as `original`; its first `argcount` locals are parameters. Null with a Python error.
  Ref assemble(PyCodeObject* original, int32_t argcount, ResumeArgument resume);

 private:
  struct Handler {
    Label start, end, target;
    int32_t depth;
  };
  Position position_;
  std::vector<Instruction> instructions_;  // a jump's target is a label
  std::vector<int32_t> labels_;            // index of the instruction
  std::vector<Handler> handlers_;
  std::vector<Ref> consts_, names_, locals_;
  std::unordered_map<PyObject*, int32_t> const_indices_, variable_indices_;
  std::vector<LentFunction::Variable> variables_;
  std::vector<Ref> variable_names_;
  bool failed_ = false;
};

// A tuple of the items; null with a Python error set on failure.
Ref tuple_from(const std::vector<Ref>& items);

}  // namespace minidynamo
