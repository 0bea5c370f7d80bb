// The evaluator's own frame: locals, stack and instruction pointer as data, independent of CPython's frame layout.
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "bytecode/instruction.h"
#include "bytecode/liveness.h"
#include "bytecode/stack_layout.h"
#include "graph/graph.h"
#include "python/ref.h"

namespace minidynamo {

class Source;

// A code object as the evaluator wants it: decoded once. It hangs on the code object and dies with it: who keeps it for
// longer than a call keeps the code object.
struct CodeInfo {
  PyCodeObject* code_object = nullptr;
  Bytecode bytecode;
  int32_t locals_count = 0;
  int32_t stack_size = 0;
  int32_t prologue = 0;  // a resume function's: instructions before the original's

  PyCodeObject* code() const noexcept { return code_object; }

  // Facts that only the end of a trace needs; made when first wanted.
  const Liveness& liveness() const;
  const StackLayout& stack_layout() const;
  // The instruction at which the function proper begins: cells and free variables are in place.
  int32_t first_instruction() const noexcept;

 private:
  mutable std::unique_ptr<Liveness> liveness_;
  mutable std::unique_ptr<StackLayout> stack_layout_;
};

// An external object that no instruction has used yet: it enters the trace, with its guards, when one does. Moving it
// between locals and the stack is no use.
struct LazyLocal {
  PyObject* raw = nullptr;   // kept alive by the source, or by the caller's frame
  Source* source = nullptr;  // null: the local of the root frame that it lies in
};

// The prepared form of a code object; null with a Python error set if it cannot be decoded.
const CodeInfo* prepare(PyCodeObject* code);
void note_prologue(PyCodeObject* code, int32_t length);  // a resume function's
void forget_prepared_codes() noexcept;

struct Frame {
  Frame(const CodeInfo* prepared, PyObject* function, Frame* caller);

  const CodeInfo* prepared;
  Frame* caller;  // the traced frame that called this one, directly or through C code
  Ref function;
  Ref code_object;  // which the function may let go of
  Ref globals, builtins;
  // The namespace that LOAD_NAME and STORE_NAME use: of class bodies, of code that exec() and eval() run, and of
  // functions made of a module's code.
  Ref locals_mapping;
  Ref locals_dict;          // the result of locals() here before CPython 3.13: one dict for as long as the frame runs
  std::vector<Ref> slots;   // fast locals, then the value stack
  size_t stack_top;         // index into slots of the first free stack slot
  int32_t instruction = 0;  // index of the instruction being executed
  long started_at = -1;     // Tracer::executed when that began
  Ref keyword_names;        // set by KW_NAMES for the next CALL
  Ref shown_in_tracebacks;  // the frame object that stands for it there; made when first wanted
  bool is_root = false;
  bool builtins_are_guarded = false;
  bool is_looked_at =
      false;  // by what wants its locals or its code: it can only run as it is (library/python/frame_readers.h)
  bool called_directly = false;  // the caller's instruction is a call whose result is what this frame returns
  // By fast local. Root frame: at first the caller's objects (borrowed from the CPython frame). Empty: there are none.
  std::vector<LazyLocal> lazy_locals;
  // The same on the value stack; the slot holds the raw object.
  struct LazySlot {
    size_t slot;
    int32_t local;  // that it was loaded from, or -1
    Source* source;
  };
  std::vector<LazySlot> lazy_stack;  // lowest slot first

  PyCodeObject* code() const noexcept { return prepared->code(); }
  bool is_of_resume_function() const noexcept { return prepared->prologue > 0; }
  // A resume function is still putting in place what it was given.
  bool is_in_prologue() const noexcept { return instruction < prepared->prologue; }
  Ref& local(int32_t index) noexcept { return slots[index]; }
  void push(Ref value) noexcept { slots[stack_top++] = std::move(value); }
  Ref pop() noexcept { return std::move(slots[--stack_top]); }
  void drop() noexcept { slots[--stack_top].reset(); }
  Ref& top(size_t depth = 1) noexcept { return slots[stack_top - depth]; }
  size_t stack_depth() const noexcept { return stack_top - prepared->locals_count; }
  void shrink_stack(size_t depth) noexcept {
    while (stack_depth() > depth) slots[--stack_top].reset();
    while (!lazy_stack.empty() && lazy_stack.back().slot >= stack_top) lazy_stack.pop_back();
  }
  void forget_lazy_local(int32_t index) noexcept {
    if (!lazy_locals.empty()) lazy_locals[index] = {};
  }
  // The local that is waiting in a slot of the value stack; null: none is.
  const LazySlot* lazy_local_in(size_t slot) const noexcept {
    for (const LazySlot& waiting : lazy_stack)
      if (waiting.slot == slot) return &waiting;
    return nullptr;
  }
  bool has_lazy_local(int32_t index) const noexcept { return !lazy_locals.empty() && lazy_locals[index].raw; }
  const Instruction& current() const noexcept { return prepared->bytecode.instructions[instruction]; }
  int32_t line() const noexcept { return current().position.line; }

  // The call site of the current instruction; shared by the nodes recorded on one line.
  std::shared_ptr<const CallSite> call_site();

 private:
  std::shared_ptr<const CallSite> site_;
};

}  // namespace minidynamo
