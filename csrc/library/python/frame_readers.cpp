#include "library/python/frame_readers.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "model/protocols/rule.h"
#include "model/protocols/upward.h"
#include "python/named_item.h"
#include "python/process/out_of_memory.h"
#include "world/external/known_types.h"
#include "world/native/code_origin.h"
#include "world/state/upward.h"

namespace minidynamo {
namespace {

constexpr int kDepth = 3;  // functions that call functions that read the stack

std::string_view text_of(PyObject* name) noexcept {
  const char* text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : nullptr;
  if (!text) clear_error();
  return text ? text : "";
}

template <size_t n>
bool is_one_of(std::string_view text, const std::string_view (&list)[n]) noexcept {
  return std::find(std::begin(list), std::end(list), text) != std::end(list);
}

// An attribute of what cannot be known before the code runs.
bool names_reader(PyObject* name) noexcept {
  static constexpr std::string_view kNames[] = {"_getframe", "currentframe", "_current_frames", "set_trace"};
  return is_one_of(text_of(name), kNames);
}

// Library code that reads frames only for what a residual function shows too: file, line, name and globals.
bool reads_lines_only(PyObject* globals, PyCodeObject* code) noexcept {
  static constexpr std::string_view kModules[] = {"logging",     "warnings", "typing",    "collections", "enum",
                                                  "dataclasses", "abc",      "functools", "string",      "random"};
  static constexpr std::string_view kTracebacks[] = {"extract_stack", "format_stack", "print_stack"};
  const std::string_view module = text_of(named_item(globals, "__name__"));
  if (module == "traceback") return is_one_of(text_of(code->co_name), kTracebacks);
  if (module.starts_with("torch.")) return module != "torch._jit_internal" && !module.starts_with("torch.jit");
  return module == "torch" || is_one_of(module, kModules);
}

// The value that a global name stands for now; null: none.
PyObject* value_of(PyObject* globals, PyObject* builtins, PyObject* name) noexcept {
  PyObject* value = named_item(globals, name);
  return !value && PyDict_Check(builtins) ? named_item(builtins, name) : value;
}

PyObject* attribute_of_module(PyObject* module, PyObject* name) noexcept {
  return named_item(PyModule_GetDict(module), name);
}

bool hands_out_stack(PyObject* value, int depth, std::unordered_set<PyObject*>& seen);

// True if a function reads the stack itself or by a function that it names: by all its names, which are more than those
// that it calls.
bool function_reads_stack(PyObject* function, int depth, std::unordered_set<PyObject*>& seen) {
  auto* code = as_code(PyFunction_GET_CODE(function));
  PyObject* globals = PyFunction_GET_GLOBALS(function);
  if (depth == 0 || !seen.insert(function).second || !PyDict_Check(globals)) return false;
  const bool is_library = is_library_code(code);
  if (is_library && reads_lines_only(globals, code)) return false;
  PyObject* builtins = as_function(function)->func_builtins;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(code->co_names); ++i) {
    PyObject* name = PyTuple_GET_ITEM(code->co_names, i);
    if (names_reader(name)) return true;
    PyObject* value = value_of(globals, builtins, name);
    if (value && !is_library && hands_out_stack(value, depth - 1, seen)) return true;
    if (value && PyCFunction_Check(value) && frame_use(value, -1) == FrameUse::Stack) return true;
  }
  return false;
}

bool hands_out_stack(PyObject* value, int depth, std::unordered_set<PyObject*>& seen) {
  if (PyFunction_Check(value)) return function_reads_stack(value, depth, seen);
  return PyCFunction_Check(value) && frame_use(value, -1) == FrameUse::Stack;
}

// True if a value that the code has at hand is a reader.
bool is_reader(PyObject* value, Py_ssize_t arguments, std::unordered_set<PyObject*>& seen) {
  if (!value) return false;
  if (PyMethod_Check(value)) value = PyMethod_GET_FUNCTION(value);
  if (PyFunction_Check(value)) return function_reads_stack(value, kDepth, seen);
  const bool may_be = PyCFunction_Check(value) || Py_IS_TYPE(value, known_types()->partial);
  return may_be && frame_use(value, arguments) != FrameUse::None;
}

bool code_names_reader(const Frame& frame) {
  const Bytecode& bytecode = frame.prepared->bytecode;
  const std::vector<Instruction>& code = bytecode.instructions;
  PyObject *globals = frame.globals.get(), *builtins = frame.builtins.get();
  if (!PyDict_Check(globals)) return true;
  std::unordered_set<PyObject*> seen;
  PyObject* module = nullptr;  // that the instruction before loaded
  for (size_t i = 0; i < code.size(); ++i) {
    const Instruction& now = code[i];
    PyObject* const loaded_from = std::exchange(module, nullptr);
    auto name = [&] { return PyTuple_GET_ITEM(bytecode.names.get(), now.arg); };
    PyObject* value = nullptr;
    Py_ssize_t arguments = -1;
    const bool is_called_bare = i + 1 < code.size() && code[i + 1].op == Op::CALL && code[i + 1].arg == 0;
    switch (now.op) {
      case Op::LOAD_GLOBAL:
        if (now.push_null) arguments = is_called_bare ? 0 : 1;  // it is called there
        value = value_of(globals, builtins, name());
        break;
      case Op::LOAD_NAME:
        value = value_of(globals, builtins, name());
        break;
      case Op::LOAD_ATTR:
      case Op::LOAD_METHOD:
      case Op::IMPORT_FROM:
        if (names_reader(name())) return true;
        if (loaded_from) value = attribute_of_module(loaded_from, name());
        break;
      default:
        break;
    }
    if (value && PyModule_Check(value)) module = value;
    if (is_reader(value, arguments, seen)) return true;
  }
  return false;
}

// Parameters and closures: what they hold now.
bool holds_reader(const Frame& frame) {
  for (int32_t i = 0; i < frame.prepared->locals_count; ++i) {
    PyObject* held = frame.has_lazy_local(i) ? frame.lazy_locals[i].raw : frame.slots[i].get();
    if (held && PyCell_Check(held)) held = PyCell_GET(held);
    if (held && (PyCFunction_Check(held) || Py_IS_TYPE(held, known_types()->partial)) &&
        frame_use(held, -1) != FrameUse::None)
      return true;
  }
  return false;
}

}  // namespace

FrameUse frame_use(PyObject* callable, Py_ssize_t arguments) {
  while (callable && Py_IS_TYPE(callable, known_types()->partial)) {
    Ref inner = Ref::made(PyObject_GetAttrString(callable, "func"));
    callable = inner.get();  // the partial owns it
    arguments = -1;
  }
  if (!callable || !PyCFunction_Check(callable)) return FrameUse::None;
  const Rule* rule = find_rule(callable);
  if (!rule || rule->kind != Rule::Kind::OwnFrame) return FrameUse::None;
  return arguments >= rule->sees_nothing_from ? FrameUse::None : rule->frame_use;
}

FrameUse frame_use_of_call(const Frame& frame) {
  const Instruction& now = frame.current();
  const int32_t operands = now.op == Op::CALL               ? now.arg + 2
                           : now.op == Op::CALL_FUNCTION_EX ? 2 + (now.arg & 1) + 1
                                                            : 0;
  const bool has_arguments = now.op == Op::CALL_FUNCTION_EX || now.arg > 0;
  for (int32_t i = operands; i > 0 && i > operands - 2; --i) {
    if (static_cast<size_t>(i) > frame.stack_depth()) continue;
    PyObject* callable = frame.slots[frame.stack_top - static_cast<size_t>(i)].get();
    if (!callable) continue;
    const bool is_super = callable == as_object(&PySuper_Type);
    if (is_super && (!has_arguments || now.op == Op::CALL_FUNCTION_EX)) return FrameUse::Locals;
    const FrameUse use = frame_use(callable, now.op == Op::CALL ? now.arg : -1);
    if (use != FrameUse::None) return use;
  }
  return FrameUse::None;
}

void forbid_split(Tracer& tracer, FrameUse use) {
  Frame* last = tracer.frame;  // the outermost that is marked
  if (use == FrameUse::Stack) {
    const Frame* entry = nullptr;  // the entry frame of the library that asks
    for (const Frame* frame = tracer.frame; frame && is_library_code(frame->code()); frame = frame->caller)
      entry = frame;
    const bool is_harmless =
        entry && PyDict_Check(entry->globals.get()) && reads_lines_only(entry->globals.get(), entry->code());
    while (last && last->caller && !(is_harmless && last == entry)) last = last->caller;
  }
  for (Frame* frame = tracer.frame; frame; frame = frame->caller) {
    frame->is_looked_at = true;
    if (frame == last) break;
  }
}

bool cannot_be_split(const Frame& frame, KnownReaders& known) {
  if (frame.is_looked_at || holds_reader(frame)) return true;
  const std::pair<PyCodeObject*, PyObject*> place{frame.code(), frame.globals.get()};
  if (const auto found = known.find(place); found != known.end()) return found->second.answer;
  const bool answer = code_names_reader(frame);
  known.emplace(place, KnownReader{Ref::borrow(as_object(frame.code())), frame.globals, answer});
  return answer;
}

}  // namespace minidynamo
