// Attribute access as CPython does it, by hand on external objects (so that each step makes a source and a guard).
#pragma once
#include "world/state/tracer.h"

namespace minidynamo {

// As object.__getattribute__: past any override, and without __getattr__.
Ref load_attribute_generically(Tracer& tracer, PyObject* object, PyObject* name);
// True if C code of the type's own stands behind __getattribute__ or __setattr__ (threading.local, proxies): what it
// reads or writes has no source.
bool has_native_access(PyTypeObject* type, PyObject* method_name, const void* generic) noexcept;

}  // namespace minidynamo
