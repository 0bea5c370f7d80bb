// Bytecode as text, for people and for tests. Calls no user code: only constants of builtin types print as their repr.
#include <cstdio>
#include <string>

#include "bytecode/instruction.h"
#include "bytecode/stack_depth.h"
#include "python/out_of_memory.h"

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
  constexpr int kMaxDepth = 24;  // of nested tuples
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
  if (PyCode_Check(object)) return "<code " + text_of(reinterpret_cast<PyCodeObject*>(object)->co_qualname) + ">";
  if (!has_safe_repr(object)) return std::string("<") + Py_TYPE(object)->tp_name + ">";
  Ref repr = Ref::steal(PyObject_Repr(object));
  if (!repr) {  // an int with more digits than CPython converts
    clear_error();
    return std::string("<") + Py_TYPE(object)->tp_name + ">";
  }
  std::string text = text_of(repr.get());
  if (text.size() > kLimit) text = text.substr(0, kLimit) + "...";
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
  if (is_jump(instruction.op)) return "-> " + std::to_string(instruction.target);
  switch (instruction.op) {
    case Op::LOAD_CONST:
    case Op::KW_NAMES:
      return item_text(bytecode.consts, arg, const_text);
    case Op::LOAD_FAST:
    case Op::STORE_FAST:
    case Op::DELETE_FAST:
    case Op::MAKE_CELL:
    case Op::LOAD_CLOSURE:
    case Op::LOAD_DEREF:
    case Op::STORE_DEREF:
    case Op::DELETE_DEREF:
    case Op::LOAD_CLASSDEREF:
      return item_text(bytecode.localsplus_names, arg, text_of);
    case Op::LOAD_GLOBAL:
      return item_text(bytecode.names, arg, text_of) + (instruction.push_null ? " + null" : "");
    case Op::LOAD_NAME:
    case Op::STORE_NAME:
    case Op::DELETE_NAME:
    case Op::STORE_GLOBAL:
    case Op::DELETE_GLOBAL:
    case Op::LOAD_ATTR:
    case Op::STORE_ATTR:
    case Op::DELETE_ATTR:
    case Op::LOAD_METHOD:
    case Op::IMPORT_NAME:
    case Op::IMPORT_FROM:
      return item_text(bytecode.names, arg, text_of);
    case Op::BINARY_OP:
      return binary_operator(arg);
    case Op::COMPARE_OP:
      return comparison(arg);
    case Op::IS_OP:
      return arg ? "is not" : "is";
    case Op::CONTAINS_OP:
      return arg ? "not in" : "in";
    case Op::RESUME:
    case Op::COPY:
    case Op::SWAP:
    case Op::COPY_FREE_VARS:
    case Op::BUILD_TUPLE:
    case Op::BUILD_LIST:
    case Op::BUILD_SET:
    case Op::BUILD_MAP:
    case Op::BUILD_CONST_KEY_MAP:
    case Op::BUILD_STRING:
    case Op::BUILD_SLICE:
    case Op::FORMAT_VALUE:
    case Op::LIST_APPEND:
    case Op::LIST_EXTEND:
    case Op::SET_ADD:
    case Op::SET_UPDATE:
    case Op::MAP_ADD:
    case Op::DICT_UPDATE:
    case Op::DICT_MERGE:
    case Op::UNPACK_SEQUENCE:
    case Op::UNPACK_EX:
    case Op::MATCH_CLASS:
    case Op::CALL:
    case Op::CALL_FUNCTION_EX:
    case Op::MAKE_FUNCTION:
    case Op::GET_AWAITABLE:
    case Op::RERAISE:
    case Op::RAISE_VARARGS:
      return std::to_string(arg);
    default:
      return {};
  }
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
