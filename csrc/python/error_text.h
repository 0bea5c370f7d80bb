// The Python error that is set: taken, set again, and put into words.
#pragma once
#include <string>

#include "python/ref.h"

namespace minidynamo {

// The error's exception, which CPython may have put off making. Borrowed from the error; null: none is set.
PyObject* current_error() noexcept;
// The error as one object, with its traceback. It is cleared.
Ref take_error();
// The other way.
void set_error(Ref exception);

// Clears the error. The message is what str() of the exception says, if it can say anything.
struct TakenError {
  std::string type = "error";
  std::string message;
  bool has_message = false;
};
TakenError take_error_parts();

// Adds to an error what CPython adds for its suggestions: the missing attribute and its owner to an AttributeError that
// names none, the missing name to a NameError.
void add_attribute_context(PyObject* object, PyObject* name) noexcept;
void add_name_context(PyObject* name) noexcept;

// "TypeError: message"
std::string take_error_text();

// "'Foo' object has no attribute 'name'", with its context.
std::nullptr_t attribute_error(PyObject* object, PyObject* name);

}  // namespace minidynamo
