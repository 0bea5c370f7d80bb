// Calls the compiled pieces of a graph (graph/pieces.h) one after the other.
#pragma once
#include "python/ref.h"

namespace minidynamo {

// A callable that takes a graph's inputs as positional arguments and returns a tuple of its results.
//
// `steps`: a tuple of (function, slots of its inputs, slots of its outputs), as in to_program(); the first `inputs`
// slots are the graph's inputs. A function takes its inputs as one list, which it may empty, and returns a tuple or a
// list. A value is let go of when its last step takes it. `results`: slots. Null with a Python error (TypeError,
// ValueError) if that is not what is given.
Ref piecewise_callable(PyObject* steps, PyObject* results, Py_ssize_t inputs);

}  // namespace minidynamo
