#include "world/state/frame.h"

#include <unordered_set>

#include "python/code/code_extra.h"
#include "python/process/out_of_memory.h"

namespace minidynamo {
namespace {

std::unordered_set<CodeInfo*>& prepared_codes() {
  static auto* codes = new std::unordered_set<CodeInfo*>;  // outlives the interpreter's end
  return *codes;
}

void free_prepared(void* data) noexcept {
  auto* dead = static_cast<CodeInfo*>(data);
  prepared_codes().erase(dead);
  delete dead;
}

CodeSlot& prepared_slot() noexcept {
  static constinit CodeSlot slot(free_prepared);
  return slot;
}

}  // namespace

const CodeInfo* prepare(PyCodeObject* code) {
  if (const void* known = prepared_slot().get(code)) return static_cast<const CodeInfo*>(known);
  auto made = std::make_unique<CodeInfo>();
  made->code_object = code;
  made->bytecode = decode(code);
  if (made->bytecode.instructions.empty()) {
    PyErr_SetString(PyExc_SystemError, "minidynamo: a code object cannot be decoded");
    return nullptr;
  }
  made->locals_count = static_cast<int32_t>(PyTuple_GET_SIZE(made->bytecode.localsplus_names.get()));
  made->stack_size = code->co_stacksize;
  // Decoding allocates, so a finalizer or another thread may have come first: then its result stays.
  if (const void* known = prepared_slot().get(code)) return static_cast<const CodeInfo*>(known);
  prepared_codes().insert(made.get());
  if (prepared_slot().set(code, made.get())) return made.release();
  prepared_codes().erase(made.get());
  return nullptr;
}

const Liveness& CodeInfo::liveness() const {
  if (!liveness_) liveness_ = std::make_unique<Liveness>(bytecode);
  return *liveness_;
}

const StackLayout& CodeInfo::stack_layout() const {
  if (!stack_layout_) stack_layout_ = std::make_unique<StackLayout>(bytecode);
  return *stack_layout_;
}

int32_t CodeInfo::first_instruction() const noexcept {
  for (size_t i = 0; i < bytecode.instructions.size(); ++i)
    if (bytecode.instructions[i].op == Op::RESUME) return static_cast<int32_t>(i);
  return 0;
}

void note_prologue(PyCodeObject* code, int32_t length) {
  if (!prepare(code)) throw_out_of_memory();
  static_cast<CodeInfo*>(prepared_slot().get(code))->prologue = length;
}

void forget_prepared_codes() noexcept {
  const auto doomed = std::exchange(prepared_codes(), {});  // letting go of code may run code that comes here
  for (CodeInfo* prepared : doomed) prepared_slot().set(prepared->code(), nullptr);
}

Frame::Frame(const CodeInfo* prepared_code, PyObject* of_function, Frame* called_by)
    : prepared(prepared_code),
      caller(called_by),
      function(Ref::borrow(of_function)),
      code_object(Ref::borrow(as_object(prepared_code->code()))) {
  auto* object = as_function(of_function);
  globals = Ref::borrow(object->func_globals);
  builtins = Ref::borrow(object->func_builtins);
  // A function that was made of the code of a module keeps its variables there.
  if (!(code()->co_flags & CO_OPTIMIZED)) locals_mapping = globals;
  // Two more than the code needs: an exception and its instruction index are pushed while the stack may be at its
  // deepest.
  slots.resize(prepared->locals_count + prepared->stack_size + 2);
  stack_top = prepared->locals_count;
}

std::shared_ptr<const CallSite> Frame::call_site() {
  if (!site_ || site_->line != line()) {
    auto site = std::make_shared<CallSite>();
    site->code = code();
    site->line = line();
    site->caller = caller ? caller->call_site() : nullptr;
    site->owner = code_object;
    site_ = std::move(site);
  }
  return site_;
}

}  // namespace minidynamo
