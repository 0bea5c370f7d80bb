// Whose code a code object is, told by its file.
#pragma once
#include "python/ref.h"

namespace minidynamo {

enum class CodeOrigin : uint8_t { User, StandardLibrary, Torch, TorchModules, Minidynamo };

// TorchModules: files below torch/nn/. Code without a file (exec, a REPL) is the user's, frozen modules are the
// standard library's, what torch.fx generates is torch's. Tests of the standard library are programs.
CodeOrigin code_origin(PyObject* filename);

// Code that a user neither wrote nor thinks of as part of the model: the standard library, minidynamo, and torch
// without torch.nn. A graph break inside it belongs at the user's call of it.
bool is_library_code(PyCodeObject* code);
// Code of the program itself: of no library, and of no package that was installed.
bool is_program_code(PyCodeObject* code);

}  // namespace minidynamo
