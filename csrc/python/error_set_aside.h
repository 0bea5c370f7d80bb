// The Python error, if one is set, set aside for a scope that calls Python in the middle of raising it.
#pragma once
#include <Python.h>

#include "python/ref.h"

namespace minidynamo {

// At its end the error is set again, in place of one that is set by then. Where none was set, none is.
class ErrorSetAside {
 public:
  ErrorSetAside() noexcept { PyErr_Fetch(&type_, &value_, &traceback_); }
  ~ErrorSetAside() {
    if (!is_dropped_) PyErr_Restore(type_, value_, traceback_);
  }
  ErrorSetAside(const ErrorSetAside&) = delete;
  ErrorSetAside& operator=(const ErrorSetAside&) = delete;

  // Null: none was set. The value may be null, or arguments of an exception that CPython has put off making.
  PyObject* type() const noexcept { return type_; }
  PyObject* value() const noexcept { return value_; }

  // Drops it: what is set at the end stays as it is.
  void drop() noexcept {
    is_dropped_ = true;
    Ref::drop(type_), Ref::drop(value_), Ref::drop(traceback_);
  }

 private:
  PyObject *type_, *value_, *traceback_;
  bool is_dropped_ = false;
};

}  // namespace minidynamo
