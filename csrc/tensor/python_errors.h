// Between C++ exceptions, as torch throws them, and Python errors.
#pragma once

namespace minidynamo {

// Turns the C++ exception being handled into a Python error. Call only inside a catch block, with the GIL.
void set_python_error_from_exception() noexcept;
// Throws the Python error that is set, in the form torch's bindings turn back into the same Python error.
[[noreturn]] void throw_python_error();

}  // namespace minidynamo
