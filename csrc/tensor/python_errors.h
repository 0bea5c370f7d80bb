// Between C++ exceptions, as torch throws them, and Python errors.
#pragma once
#include <Python.h>

#include <functional>
#include <string>

namespace minidynamo {

// Turns the C++ exception being handled into a Python error. Call only inside a catch block, with the GIL.
void set_python_error_from_exception() noexcept;
// Throws the Python error that is set, in the form torch's bindings turn back into the same Python error.
[[noreturn]] void throw_python_error();
// Calls `call`. If it throws a Python error, as torch or as pybind11 throw one, calls `seen` with its type and message,
// with the GIL, and throws it on.
void call_watching_python_errors(const std::function<void()>& call,
                                 const std::function<void(PyObject* type, const std::string& message)>& seen);

}  // namespace minidynamo
