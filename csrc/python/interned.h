// Names as attributes and variables have them: one object for each text, which is compared by its address.
#pragma once
#include "python/ref.h"

namespace minidynamo {

// The interned object for a text; `text` is of class str itself, or null.
inline Ref as_interned(PyObject* text) noexcept {
  PyObject* name = Ref::borrow(text).release();
  if (name) PyUnicode_InternInPlace(&name);
  return Ref::steal(name);
}

}  // namespace minidynamo
