// A Python context manager that is entered as long as a scope lasts: its methods run natively, and nothing is traced of
// them. The Python error that is set when the scope ends is kept.
#pragma once
#include "python/error_set_aside.h"
#include "python/native_scope.h"
#include "python/process/out_of_memory.h"
#include "python/ref.h"

namespace minidynamo {

class EnteredContext {
 public:
  // Enters the object that `type` makes of these keywords (null: none). False, with a Python error, if it cannot be
  // made or entered.
  explicit EnteredContext(PyObject* type, PyObject* keywords = nullptr) {
    const NativeScope native;
    const Ref nothing = Ref::made(PyTuple_New(0));
    if (type) manager_ = Ref::steal(PyObject_Call(type, nothing.get(), keywords));
    if (manager_ && !Ref::steal(PyObject_CallMethod(manager_.get(), "__enter__", nullptr))) manager_.reset();
  }
  ~EnteredContext() {
    if (!manager_) return;
    const NativeScope native;
    const ErrorSetAside error;
    Ref::drop(PyObject_CallMethod(manager_.get(), "__exit__", "OOO", Py_None, Py_None, Py_None));
    clear_error();
  }
  EnteredContext(const EnteredContext&) = delete;
  explicit operator bool() const noexcept { return static_cast<bool>(manager_); }

 private:
  Ref manager_;
};

}  // namespace minidynamo
