// The exceptions that are being handled: CPython keeps a stack of them, a running generator has an entry of its own.
#pragma once
#include "python/ref.h"

namespace minidynamo {

// The content of the innermost entry, which an except clause remembers and its end puts back. None: nothing.
Ref innermost_handled() noexcept;
void set_innermost_handled(PyObject* exception) noexcept;

// Sets the exception being handled as the context of the current Python error, as raising it here would.
void chain_to_handled();

// A generator's entry: the exception in whose except clause it is suspended.
class HandledEntry {
 public:
  HandledEntry() noexcept : item_{nullptr, nullptr} {}
  ~HandledEntry() { Py_CLEAR(item_.exc_value); }
  HandledEntry(const HandledEntry&) = delete;

  void push() noexcept;  // the generator runs
  void pop() noexcept;
  bool is_empty() const noexcept { return !item_.exc_value || item_.exc_value == Py_None; }

 private:
  _PyErr_StackItem item_;
};

}  // namespace minidynamo
