// Helpers of the guard tests: Python snippets run in a namespace of their own, and a tree with its frame.
#pragma once
#if __has_include(<catch2/catch_test_macros.hpp>)
#include <catch2/catch_test_macros.hpp>
#else
#include <catch2/catch.hpp>
#endif

#include <string>
#include <vector>

#include "guard/source.h"
#include "python/ref.h"

namespace minidynamo::guard_test {

// A namespace in which Python code runs; what it defines is fetched by name. A Python error fails the test.
class Namespace {
 public:
  Namespace() : dict_(Ref::steal(PyDict_New())) {
    PyDict_SetItemString(dict_.get(), "__builtins__", PyEval_GetBuiltins());
    PyDict_SetItemString(dict_.get(), "__name__", text("guard_test").get());
  }
  ~Namespace() { PyDict_Clear(dict_.get()); }

  static Ref text(const std::string& string) { return Ref::steal(PyUnicode_InternFromString(string.c_str())); }

  Ref run(const std::string& code) const { return evaluate(code, Py_file_input); }
  Ref value(const std::string& expression) const { return evaluate(expression, Py_eval_input); }
  PyObject* operator[](const char* name) const {
    PyObject* found = PyDict_GetItemString(dict_.get(), name);
    REQUIRE(found);
    return found;
  }
  PyObject* dict() const { return dict_.get(); }

 private:
  Ref dict_;

  Ref evaluate(const std::string& code, int start) const {
    Ref result = Ref::steal(PyRun_String(code.c_str(), start, dict_.get(), dict_.get()));
    if (!result) PyErr_Print();
    REQUIRE(result);
    return result;
  }
};

// One local variable, `x`, and a tree over it.
struct Tree {
  GuardTree guards;
  GuardOrigin origin;
  PyObject* local = nullptr;

  FrameView frame() const { return {nullptr, &local}; }
  Source* root(PyObject* value) {
    local = value;
    return guards.local(0, Namespace::text("x").get(), value);
  }
  Source* attribute(Source* parent, const char* name, PyObject* value) {
    Source* dict = guards.child(parent, Access::InstanceDict, nullptr, -1, nullptr);
    return guards.child(dict, Access::DictItem, Namespace::text(name).get(), -1, value);
  }
  // Both ways; they must agree.
  bool check() {
    bool fast = guards.check(frame(), nullptr);
    bool slow = guards.check_slowly(frame());
    CHECK(fast == slow);
    CHECK_FALSE(PyErr_Occurred());
    CHECK(guards.explain_failure(frame()).empty() == slow);
    return fast && slow;
  }
  bool check(PyObject* value) {
    local = value;
    return check();
  }
};

}  // namespace minidynamo::guard_test
