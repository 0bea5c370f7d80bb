// Wraps the function that a backend made in a native callable that sets the state in which it is to run.
#pragma once
#include <optional>

#include "python/ref.h"

namespace minidynamo {

struct CompiledFunctionState {
  bool captures_nothing = false;       // frames that it calls run as they are
  bool below_autograd = false;         // nothing is recorded for a backward pass, nothing cast
  bool begins_with_gradients = false;  // switched on first
  // The grad mode after the call, where the graph changes it: AOTAutograd does not set it where inputs share memory.
  std::optional<bool> ends_with_gradients;
};

// `callable` itself if no state makes a difference. Null with a Python error set.
Ref compiled_function(PyObject* callable, CompiledFunctionState state);

}  // namespace minidynamo
