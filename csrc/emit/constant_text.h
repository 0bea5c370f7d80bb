// Constants of a plan as Python expressions.
#pragma once
#include <optional>
#include <string>

#include "python/ref.h"

namespace minidynamo {

// A literal (None, numbers, str, bytes, tuples of these) or the dotted name of a class, function, method or module
// ("list.append", "collections.OrderedDict"). Nothing if the object has no such text. Runs no user code.
std::optional<std::string> constant_text(PyObject* object);

// Describes an object without a text by its type, "<Foo object>".
std::string opaque_text(PyObject* object);

std::string utf8_text(PyObject* str);  // "?" for an object that is no str, or does not encode

}  // namespace minidynamo
