// Calls of C code.
#pragma once
#include <string>

#include "model/protocols/arguments.h"
#include "world/state/tracer.h"

namespace minidynamo {

// C code is executed as it is; Python frames that it calls come back to the tracer.
Ref call_natively(Tracer& tracer, PyObject* callable, const Arguments& arguments);
// Values as PyObject_Vectorcall takes them with PY_VECTORCALL_ARGUMENTS_OFFSET: behind a free place (borrowed).
std::vector<PyObject*> vectorcall_values(const Arguments& arguments);
// The name of a callable in reports: "module.qualified.name", or its type's name.
std::string callable_name(PyObject* callable);
// True if C code may warn that computes from its arguments: of escapes in text, of numbers of other classes, or because
// it is deprecated. A trap for warnings around all would catch those of Python code that C code calls, too.
bool may_warn(PyObject* callable) noexcept;

}  // namespace minidynamo
