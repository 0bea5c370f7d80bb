// A native callable around another, in whose calls nothing is captured.
#pragma once
#include "python/ref.h"

namespace minidynamo {

// `callable` itself if it runs no Python code. Null with a Python error set.
Ref uncaptured_callable(PyObject* callable);

}  // namespace minidynamo
