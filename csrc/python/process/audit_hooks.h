// Python functions that sys.addaudithook() has been given, which CPython calls at its audit events.
#pragma once
#include "python/ref.h"

namespace minidynamo {

bool is_audit_hook(PyObject* function) noexcept;

}  // namespace minidynamo
