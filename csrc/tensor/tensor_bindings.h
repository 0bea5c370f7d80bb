// The Python surface of csrc/tensor/ for tests and debugging.
#pragma once
#include <Python.h>

namespace minidynamo {

// Adds make_fake, is_fake, memo_statistics, clear_memo, FakeScope, TensorRecord and TorchState to a module. Throws
// pybind11::error_already_set.
void bind_tensor(PyObject* module);

}  // namespace minidynamo
