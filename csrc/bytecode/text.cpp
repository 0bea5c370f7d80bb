// Bytecode as text, for people and for tests. Calls no user code: only constants of builtin types print as their repr.
#include <cstdio>
#include <string>

#include "bytecode/instruction.h"
#include "bytecode/op_facts.h"
#include "python/process/out_of_memory.h"

namespace minidynamo {
namespace {

std::string text_of(PyObject* str) {
  Py_ssize_t size = 0;
  const char* text = str && PyUnicode_Check(str) ? PyUnicode_AsUTF8AndSize(str, &size) : nullptr;
  if (!text) {  // lone surrogates
    clear_error();
    return "?";
  }
  return {text, static_cast<size_t>(size)};
}

bool has_safe_repr(PyObject* object, int depth = 0) noexcept {
  constexpr int kMaxDepth = 24;  // depth of nested tuples
  if (object == Py_None || object == Py_Ellipsis || PyBool_Check(object) || PyLong_CheckExact(object) ||
      PyFloat_CheckExact(object) || PyComplex_CheckExact(object) || PyUnicode_CheckExact(object) ||
      PyBytes_CheckExact(object)) {
    return true;
  }
  if (!PyTuple_CheckExact(object) || depth >= kMaxDepth) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i) {
    if (!has_safe_repr(PyTuple_GET_ITEM(object, i), depth + 1)) return false;
  }
  return true;
}

std::string const_text(PyObject* object) {
  constexpr size_t kLimit = 60;
  if (PyCode_Check(object)) return "<code " + text_of(as_code(object)->co_qualname) + ">";
  if (!has_safe_repr(object)) return std::string("<") + Py_TYPE(object)->tp_name + ">";
  Ref repr = Ref::steal(PyObject_Repr(object));
  if (!repr) {  // an int with more digits than CPython converts
    clear_error();
    return std::string("<") + Py_TYPE(object)->tp_name + ">";
  }
  std::string text = text_of(repr.get());
  if (text.size() > kLimit) {
    size_t end = kLimit;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;  // within a character
    text = text.substr(0, end) + "...";
  }
  return text;
}

std::string item_text(const Ref& tuple, int32_t index, std::string (*text)(PyObject*)) {
  if (!tuple || index < 0 || index >= PyTuple_GET_SIZE(tuple.get())) return "?" + std::to_string(index);
  return text(PyTuple_GET_ITEM(tuple.get(), index));
}

const char* binary_operator(int32_t number) noexcept {
  static constexpr const char* kOperators[] = {
      "+",  "&",  "//",  "<<",  "@",  "*",  "%",  "|",  "**",  ">>",  "-",  "/",  "^",
      "+=", "&=", "//=", "<<=", "@=", "*=", "%=", "|=", "**=", ">>=", "-=", "/=", "^="};
  return number >= 0 && number < 26 ? kOperators[number] : "?";
}

const char* comparison(int32_t number) noexcept {
  static constexpr const char* kComparisons[] = {"<", "<=", "==", "!=", ">", ">="};
  return number >= 0 && number < 6 ? kComparisons[number] : "?";
}

std::string argument_text(const Bytecode& bytecode, const Instruction& instruction) {
  const int32_t arg = instruction.arg;
  switch (operand(instruction.op)) {
    case Operand::None:
      return {};
    case Operand::Number:
      return std::to_string(arg);
    case Operand::Const:
      return item_text(bytecode.consts, arg, const_text);
    case Operand::Name:
      return item_text(bytecode.names, arg, text_of) + (instruction.push_null ? " + null" : "") +
             (instruction.has_arguments ? " + arguments" : "");
    case Operand::Local:
      return item_text(bytecode.localsplus_names, arg, text_of);
    case Operand::Target:
      return "-> " + std::to_string(instruction.target);
    case Operand::BinaryOperator:
      return binary_operator(arg);
    case Operand::Comparison:
      return comparison(arg);
    case Operand::Identity:
      return arg ? "is not" : "is";
    case Operand::Membership:
      return arg ? "not in" : "in";
  }
  return {};
}

}  // namespace

std::string to_text(const Bytecode& bytecode) {
  std::string text;
  int32_t line = -1;
  int32_t index = 0;
  for (const Instruction& instruction : bytecode.instructions) {
    if (instruction.position.line >= 0 && instruction.position.line != line) {
      line = instruction.position.line;
      text += "line " + std::to_string(line) + "\n";
    }
    char head[64];
    std::snprintf(head, sizeof head, "%5d %5d  %s", index++, instruction.offset, op_name(instruction.op));
    text += head;
    const std::string argument = argument_text(bytecode, instruction);
    if (!argument.empty()) {
      constexpr size_t kArgumentColumn = 36;
      const size_t used = std::char_traits<char>::length(head);
      text.append(used < kArgumentColumn ? kArgumentColumn - used : 1, ' ');
      text += argument;
    }
    text += '\n';
  }
  for (const ExceptionRegion& region : bytecode.regions) {
    text += "except " + std::to_string(region.start) + ".." + std::to_string(region.end - 1) + " -> " +
            std::to_string(region.target) + " depth " + std::to_string(region.depth) +
            (region.push_lasti ? " lasti\n" : "\n");
  }
  return text;
}

}  // namespace minidynamo
