#include "python/handled_exception.h"

#define Py_BUILD_CORE
#undef HAVE_STD_ATOMIC
#include <internal/pycore_pyerrors.h>
#undef Py_BUILD_CORE

namespace minidynamo {

Ref innermost_handled() noexcept {
  PyObject* exception = PyThreadState_Get()->exc_info->exc_value;
  return exception ? Ref::borrow(exception) : Ref::none();
}

void set_innermost_handled(PyObject* exception) noexcept { PyErr_SetHandledException(exception); }

void chain_to_handled() noexcept { _PyErr_ChainStackItem(nullptr); }

void HandledEntry::push() noexcept {
  PyThreadState* thread = PyThreadState_Get();
  item_.previous_item = thread->exc_info;
  thread->exc_info = &item_;
}

void HandledEntry::pop() noexcept {
  PyThreadState_Get()->exc_info = item_.previous_item;
  item_.previous_item = nullptr;
}

}  // namespace minidynamo
