// The evaluator's own frame: locals, stack and instruction pointer as data, independent of CPython's frame layout.
#pragma once
#include <memory>
#include <vector>

#include "bytecode/instruction.h"
#include "graph/graph.h"
#include "python/ref.h"

namespace minidynamo {

// A code object as the evaluator wants it: decoded once; it and its code object are kept until the next reset.
struct PreparedCode {
  Ref code_object;
  Bytecode bytecode;
  int32_t locals_count = 0;
  int32_t stack_size = 0;

  PyCodeObject* code() const noexcept { return reinterpret_cast<PyCodeObject*>(code_object.get()); }
};

// The prepared form of a code object; null with a Python error set if it cannot be decoded.
const PreparedCode* prepare(PyCodeObject* code);
void forget_prepared_codes() noexcept;

struct Frame {
  Frame(const PreparedCode* prepared, PyObject* function, Frame* caller);

  const PreparedCode* prepared;
  Frame* caller;  // the traced frame that called this one, directly or through C code
  Ref function;
  Ref globals, builtins;
  Ref locals_mapping;       // class bodies only: the namespace that LOAD_NAME and STORE_NAME use
  std::vector<Ref> slots;   // fast locals, then the value stack
  size_t stack_top;         // index into slots of the first free stack slot
  int32_t instruction = 0;  // index of the instruction being executed
  Ref keyword_names;        // set by KW_NAMES for the next CALL
  bool is_root = false;
  // Root frame: the caller's objects that no instruction has touched yet (borrowed from the CPython frame); they enter
  // the trace, with their guards, when they are first loaded.
  std::vector<PyObject*> pending;

  PyCodeObject* code() const noexcept { return prepared->code(); }
  Ref& local(int32_t index) noexcept { return slots[index]; }
  void push(Ref value) noexcept { slots[stack_top++] = std::move(value); }
  Ref pop() noexcept { return std::move(slots[--stack_top]); }
  Ref& top(size_t depth = 1) noexcept { return slots[stack_top - depth]; }
  size_t stack_depth() const noexcept { return stack_top - prepared->locals_count; }
  void shrink_stack(size_t depth) noexcept {
    while (stack_depth() > depth) slots[--stack_top].reset();
  }
  const Instruction& current() const noexcept { return prepared->bytecode.instructions[instruction]; }
  int32_t line() const noexcept { return current().position.line; }

  // The call site of the current instruction; shared by the nodes recorded on one line.
  std::shared_ptr<const CallSite> call_site();

 private:
  std::shared_ptr<const CallSite> site_;
};

}  // namespace minidynamo
