// The weak references that a class keeps to its direct subclasses (`tp_subclasses`, what `__subclasses__()` lists).
#pragma once
#include "python/ref.h"

namespace minidynamo {

// The class last made of those that derive from `base` directly; null if none is alive there.
Ref newest_subclass(PyTypeObject* base);

// Makes the bases of a class forget it, as if it had died. For classes that are no longer in use: a later change of a
// base does not reach it.
void forget_subclass(PyTypeObject* type) noexcept;

}  // namespace minidynamo
