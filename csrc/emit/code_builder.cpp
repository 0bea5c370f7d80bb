#include "emit/code_builder.h"

#include "python/code/code_object.h"
#include "python/interned.h"
#include "python/process/out_of_memory.h"

namespace minidynamo {

Ref tuple_from(const std::vector<Ref>& items) {
  Ref tuple = Ref::made(PyTuple_New(static_cast<Py_ssize_t>(items.size())));
  for (size_t i = 0; i < items.size(); ++i)
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), Ref(items[i]).release());
  return tuple;
}

namespace {

// True if an object may lead to a function whose code the residual code hangs on. What else residual code names is C
// code, a value, or made for it.
bool may_lead_back(PyObject* object) noexcept {
  if (PyType_Check(object)) return as_type(object)->tp_flags & Py_TPFLAGS_HEAPTYPE;
  return PyFunction_Check(object) || PyModule_Check(object) || PyCode_Check(object);
}

std::string variable_name(PyObject* object) {
  const char* text = nullptr;
  if (PyType_Check(object)) text = as_type(object)->tp_name;
  if (PyFunction_Check(object)) text = PyUnicode_AsUTF8(as_function(object)->func_name);
  if (PyModule_Check(object)) text = PyModule_GetName(object);
  if (PyCode_Check(object)) text = PyUnicode_AsUTF8(as_code(object)->co_name);
  clear_error();
  return text ? text : "object";
}

}  // namespace

CodeBuilder::Label CodeBuilder::make_label() {
  labels_.push_back(-1);
  return static_cast<Label>(labels_.size() - 1);
}

void CodeBuilder::load_constant(PyObject* object) {
  if (object && may_lead_back(object)) return load_variable(variable_name(object), object, true);
  load_own(object);
}

int32_t CodeBuilder::variable(const std::string& name, PyObject* object, bool weak) {
  const auto [entry, is_new] = variable_indices_.try_emplace(object, static_cast<int32_t>(variables_.size()));
  if (is_new) {
    variables_.push_back({Ref::borrow(object), weak});
    variable_names_.push_back(Ref::made(PyUnicode_InternFromString(name.c_str())));
    failed_ |= !variable_names_.back();
  }
  return entry->second;  // counted from the first free variable until the code is assembled
}

int32_t CodeBuilder::constant(PyObject* object) {
  if (!object) {  // the Python error is noticed at the end
    failed_ = true;
    return 0;
  }
  const auto [entry, is_new] = const_indices_.try_emplace(object, static_cast<int32_t>(consts_.size()));
  if (is_new) consts_.push_back(Ref::borrow(object));
  return entry->second;
}

int32_t CodeBuilder::name(PyObject* text) {
  if (!text) {
    failed_ = true;
    return 0;
  }
  const Ref owned = as_interned(text);
  for (size_t i = 0; i < names_.size(); ++i)
    if (names_[i] == owned) return static_cast<int32_t>(i);
  names_.push_back(owned);
  return static_cast<int32_t>(names_.size() - 1);
}

int32_t CodeBuilder::add_local(const std::string& text) {
  locals_.push_back(Ref::made(PyUnicode_InternFromString(text.c_str())));
  failed_ |= !locals_.back();
  return static_cast<int32_t>(locals_.size() - 1);
}

void CodeBuilder::insert(size_t index, const std::vector<Instruction>& added, size_t replaced) {
  const auto at = instructions_.begin() + static_cast<ptrdiff_t>(index);
  instructions_.erase(at, at + static_cast<ptrdiff_t>(replaced));
  instructions_.insert(instructions_.begin() + static_cast<ptrdiff_t>(index), added.begin(), added.end());
  const auto moved = static_cast<int32_t>(added.size()) - static_cast<int32_t>(replaced);
  for (int32_t& label : labels_)
    if (label >= static_cast<int32_t>(index + replaced)) label += moved;
}

Ref CodeBuilder::assemble(PyCodeObject* original, int32_t argcount, ResumeArgument resume) {
  if (failed_) return nullptr;
  const CodeView look = view_code(original);
  const auto variable_count = static_cast<int32_t>(variables_.size()), locals = static_cast<int32_t>(locals_.size());
  Bytecode bytecode;
  auto begin_with = [&](Op op, int32_t arg) {
    bytecode.instructions.push_back({op, false, arg, -1, -1, {look.first_line, look.first_line, -1, -1}});
  };
  if (variable_count) begin_with(Op::COPY_FREE_VARS, variable_count);
  begin_with(Op::RESUME, static_cast<int32_t>(resume));
  const auto before = static_cast<int32_t>(bytecode.instructions.size());
  for (Instruction instruction : instructions_) {
    if (instruction.target >= 0) instruction.target = labels_[instruction.target] + before;
    if (instruction.op == Op::LOAD_DEREF) instruction.arg += locals;
    bytecode.instructions.push_back(instruction);
  }
  for (const Handler& handler : handlers_)
    bytecode.regions.push_back({labels_[handler.start] + before, labels_[handler.end] + before,
                                labels_[handler.target] + before, handler.depth, false});
  bytecode.consts = tuple_from(consts_);
  bytecode.names = tuple_from(names_);
  std::vector<Ref> names = locals_;
  names.insert(names.end(), variable_names_.begin(), variable_names_.end());
  bytecode.localsplus_names = tuple_from(names);
  if (!bytecode.consts || !bytecode.names || !bytecode.localsplus_names) return nullptr;
  bytecode.localsplus_kinds.assign(locals_.size(), kFastLocal);
  bytecode.localsplus_kinds.resize(names.size(), kFastFree);
  bytecode.filename = Ref::borrow(look.filename);
  bytecode.name = Ref::borrow(look.name);
  bytecode.qualname = Ref::borrow(look.qualname);
  bytecode.argcount = argcount;
  bytecode.flags = CO_OPTIMIZED | CO_NEWLOCALS | kGeneratedCode;
  bytecode.first_line = look.first_line;
  return minidynamo::assemble(bytecode);
}

}  // namespace minidynamo
