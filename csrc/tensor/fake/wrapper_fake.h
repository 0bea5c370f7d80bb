// Tensors that wrap tensors: their class answers operators itself, by __torch_dispatch__, with the tensors that it
// holds, and says how they are taken apart and put together again (__tensor_flatten__, __tensor_unflatten__; torch
// calls them traceable wrapper subclasses). The fake of one is an object of its class around fakes: torch asks the
// class before this room's kernels are, and what the class does with its tensors arrives here.
//
// What they consist of is found out in world/proxies/wrapper_tensors.h, which calls the class's methods.
#pragma once
#include <optional>

#include "python/ref.h"

namespace minidynamo {

// True if an object is such a tensor, of strided layout, and torch knows its sizes and device itself. False too for
// what torch.func makes around tensors.
bool is_wrapper(PyObject* object) noexcept;
// True if such a tensor has been noted to hold fakes.
bool is_wrapper_of_fakes(PyObject* object) noexcept;
void note_wrapper_of_fakes(PyObject* wrapper);

// One that the trace makes, by _make_wrapper_subclass(class, *arguments, **keywords): what it holds are the attributes
// that the program puts on it.
void note_made_wrapper(PyObject* wrapper, Ref arguments, Ref keywords);
struct MadeWrapper {
  PyObject* arguments;  // tuple
  PyObject* keywords;   // dict
};
std::optional<MadeWrapper> made_wrapper(PyObject* object) noexcept;

// The fake wrapper as autograd is to see it: a leaf or something computed, as the real one is; it may be another
// object. Runs the class's code. Null without a Python error: that cannot be had.
Ref with_history_of(PyObject* fake_wrapper, PyObject* real);
// True if two tensors agree in sizes, strides, dtype and device.
bool have_same_layout(PyObject* one, PyObject* other) noexcept;

}  // namespace minidynamo
