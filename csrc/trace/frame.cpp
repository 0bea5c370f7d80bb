#include "trace/frame.h"

#include <unordered_map>

namespace minidynamo {
namespace {
std::unordered_map<PyCodeObject*, std::unique_ptr<PreparedCode>>& prepared_codes() {
  static auto* codes =
      new std::unordered_map<PyCodeObject*, std::unique_ptr<PreparedCode>>;  // outlives the interpreter's end
  return *codes;
}
}  // namespace

const PreparedCode* prepare(PyCodeObject* code) {
  auto& known = prepared_codes()[code];
  if (!known) {
    known = std::make_unique<PreparedCode>();
    known->code_object = Ref::borrow(reinterpret_cast<PyObject*>(code));
    known->bytecode = decode(code);
    if (known->bytecode.instructions.empty()) {
      prepared_codes().erase(code);
      PyErr_SetString(PyExc_SystemError, "minidynamo: a code object cannot be decoded");
      return nullptr;
    }
    known->locals_count = static_cast<int32_t>(PyTuple_GET_SIZE(known->bytecode.localsplus_names.get()));
    known->stack_size = code->co_stacksize;
  }
  return known.get();
}

const Liveness& PreparedCode::liveness() const {
  if (!liveness_) liveness_ = std::make_unique<Liveness>(bytecode);
  return *liveness_;
}

const StackLayout& PreparedCode::stack_layout() const {
  if (!stack_layout_) stack_layout_ = std::make_unique<StackLayout>(bytecode);
  return *stack_layout_;
}

int32_t PreparedCode::first_instruction() const noexcept {
  for (size_t i = 0; i < bytecode.instructions.size(); ++i)
    if (bytecode.instructions[i].op == Op::RESUME) return static_cast<int32_t>(i);
  return 0;
}

void note_prologue(PyCodeObject* code, int32_t length) {
  if (prepare(code)) prepared_codes()[code]->prologue = length;
  PyErr_Clear();
}

void forget_prepared_codes() noexcept { prepared_codes().clear(); }

Frame::Frame(const PreparedCode* prepared_code, PyObject* of_function, Frame* called_by)
    : prepared(prepared_code), caller(called_by), function(Ref::borrow(of_function)) {
  auto* object = reinterpret_cast<PyFunctionObject*>(of_function);
  globals = Ref::borrow(object->func_globals);
  builtins = Ref::borrow(object->func_builtins);
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
    site->owner = prepared->code_object;
    site_ = std::move(site);
  }
  return site_;
}

}  // namespace minidynamo
