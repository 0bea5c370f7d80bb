#include "hook/policy.h"

#include "tensor/fake.h"
#include "trace/code_origin.h"
#include "trace/known_types.h"
#include "trace/user_rules.h"

namespace minidynamo {

bool should_capture(const InterpreterFrame& frame) {
  if (!frame.is_call || (frame.code->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR))) return false;
  int parameters = frame.code->co_argcount + frame.code->co_kwonlyargcount;
  parameters += (frame.code->co_flags & CO_VARARGS ? 1 : 0) + (frame.code->co_flags & CO_VARKEYWORDS ? 1 : 0);
  const KnownTypes* known = known_types();
  auto interesting = [&](PyObject* value) {
    return value && (is_tensor(value) || PyType_IsSubtype(Py_TYPE(value), known->module));
  };
  for (int i = 0; i < parameters; ++i) {
    PyObject* value = frame.locals[i];
    bool found = interesting(value);
    if (value && PyTuple_CheckExact(value))
      for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(value) && !found; ++k)
        found = interesting(PyTuple_GET_ITEM(value, k));
    if (found) return code_origin(frame.code->co_filename) == CodeOrigin::User && !kept_out(frame.function);
  }
  return false;
}

}  // namespace minidynamo
