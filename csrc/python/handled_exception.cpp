#include "python/handled_exception.h"

#include "python/error_text.h"

namespace minidynamo {

Ref innermost_handled() noexcept {
  PyObject* exception = PyThreadState_Get()->exc_info->exc_value;
  return exception ? Ref::borrow(exception) : Ref::none();
}

void set_innermost_handled(PyObject* exception) noexcept { PyErr_SetHandledException(exception); }

void chain_to_handled() {
  PyObject* handled = PyThreadState_Get()->exc_info->exc_value;
  if (!handled || handled == Py_None) return;
  const Ref raised = take_error();
  PyErr_SetObject(as_object(raised.type()), raised.get());  // sets the context
}

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
