// Helpers of the tests of code objects: Python text compiled and run in a namespace of its own, instructions found by
// what they are.
#pragma once
#if __has_include(<catch2/catch_test_macros.hpp>)  // version 3
#include <catch2/catch_test_macros.hpp>
#else
#include <catch2/catch.hpp>
#endif

#include <string>
#include <vector>

#include "bytecode/instruction.h"
#include "python/ref.h"

namespace minidynamo::code_test {

inline constexpr const char* kProgramFile = "program.py";

// A Python error here is the test's own fault.
inline Ref checked(PyObject* result) {
  if (!result) PyErr_Print();
  REQUIRE(result);
  return Ref::steal(result);
}

inline Ref str(const std::string& text) { return Ref::steal(PyUnicode_InternFromString(text.c_str())); }
inline Ref integer(long value) { return Ref::steal(PyLong_FromLong(value)); }
inline std::string text_of(PyObject* text) { return PyUnicode_AsUTF8(text); }

// A module's code, to be run once or more often: each run has functions of its own, over the same code objects.
inline Ref compile_program(const std::string& source, const char* file = kProgramFile) {
  return checked(Py_CompileString(source.c_str(), file, Py_file_input));
}

class Program {
 public:
  explicit Program(const Ref& compiled) : names_(Ref::steal(PyDict_New())) {
    set("__builtins__", PyEval_GetBuiltins());
    set("__name__", str("program").get());
    checked(PyEval_EvalCode(compiled.get(), names_.get(), names_.get()));
  }
  explicit Program(const std::string& source) : Program(compile_program(source)) {}
  ~Program() { PyDict_Clear(names_.get()); }
  Program(const Program&) = delete;

  PyObject* names() const { return names_.get(); }
  PyObject* operator[](const char* name) const {
    PyObject* found = PyDict_GetItemString(names_.get(), name);
    INFO(name);
    REQUIRE(found);
    return found;
  }
  void set(const char* name, PyObject* value) { PyDict_SetItemString(names_.get(), name, value); }
  PyCodeObject* code(const char* function) const {
    return reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE((*this)[function]));
  }
  void run(const std::string& statements) {
    checked(PyRun_String(statements.c_str(), Py_file_input, names_.get(), names_.get()));
  }
  Ref value(const std::string& expression) {
    return checked(PyRun_String(expression.c_str(), Py_eval_input, names_.get(), names_.get()));
  }
  std::string text(const std::string& expression) { return text_of(value("repr((" + expression + "))").get()); }

 private:
  Ref names_;
};

// A code object and those in its constants, at any depth.
inline void each_code(PyObject* code, const auto& visit) {
  visit(reinterpret_cast<PyCodeObject*>(code));
  PyObject* consts = reinterpret_cast<PyCodeObject*>(code)->co_consts;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(consts); ++i)
    if (PyCode_Check(PyTuple_GET_ITEM(consts, i))) each_code(PyTuple_GET_ITEM(consts, i), visit);
}

// The code objects of standard library modules, read from their files.
inline void each_library_code(const std::vector<std::string>& modules, const auto& visit) {
  Program finder(
      "import importlib.util\n"
      "def load(name):\n"
      "    with open(importlib.util.find_spec(name).origin) as file:\n"
      "        return compile(file.read(), name, 'exec', dont_inherit=True)\n");
  for (const std::string& module : modules) {
    INFO(module);
    each_code(finder.value("load('" + module + "')").get(), visit);
  }
}

// Index of the n-th instruction of a kind; -1 if there is none.
inline int32_t find_op(const Bytecode& bytecode, Op op, int n = 0) {
  for (size_t i = 0; i < bytecode.instructions.size(); ++i)
    if (bytecode.instructions[i].op == op && n-- == 0) return static_cast<int32_t>(i);
  return -1;
}

inline std::string local_name(const Bytecode& bytecode, int32_t local) {
  return text_of(PyTuple_GET_ITEM(bytecode.localsplus_names.get(), local));
}
inline int32_t find_local(const Bytecode& bytecode, const std::string& name) {
  for (int32_t local = 0; local < PyTuple_GET_SIZE(bytecode.localsplus_names.get()); ++local)
    if (local_name(bytecode, local) == name) return local;
  return -1;
}

}  // namespace minidynamo::code_test
