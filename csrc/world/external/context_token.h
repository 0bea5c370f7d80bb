// The result of ContextVar.set() in a trace. Its Token is made when the variable is really set.
#pragma once
#include "python/ref.h"

namespace minidynamo {

Ref make_context_token();
bool is_context_token(PyObject* object) noexcept;

}  // namespace minidynamo
