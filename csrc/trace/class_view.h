// The `__dict__` of a class from before the trace: a read-only view, of which single names are looked up. Anything else
// done with it is a break.
#pragma once
#include "trace/tracer.h"

namespace minidynamo {

// The class that `object` is the view of; null if it is no such view.
PyTypeObject* class_of_view(const Tracer& tracer, PyObject* object) noexcept;

// What a class from before the trace has itself under a name. Null Ref without a Python error: nothing, which is
// guarded too.
Ref own_class_attribute(Tracer& tracer, PyTypeObject* type, PyObject* name);

}  // namespace minidynamo
