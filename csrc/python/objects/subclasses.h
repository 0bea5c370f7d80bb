// The weak references that a class keeps to its direct subclasses (`tp_subclasses`, what `__subclasses__()` lists).
#pragma once
#include "python/ref.h"

namespace minidynamo {

// The class last made of those that derive from `base` directly; null if none is alive there.
Ref newest_subclass(PyTypeObject* base);

// The bases of a class no longer know of it, as if it had died. For classes that nobody will use again: what is changed
// in a base later does not reach it.
void forget_subclass(PyTypeObject* type) noexcept;

}  // namespace minidynamo
