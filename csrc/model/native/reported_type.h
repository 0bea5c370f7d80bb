// The types of iterators and generators that a trace has in place of CPython's own: what the program sees of them.
//
// A traced generator stands for a generator, an in-trace iterator for an outside one of some type. Their own types have
// the names and those methods that can be followed; what else the real type has cannot be answered, and is a break.
#pragma once

#include "model/protocols/arguments.h"
#include "world/proxies/proxy.h"
#include "world/state/tracer.h"

namespace minidynamo {

// The type that the program takes the object's to be, if it is such a stand-in; null if it is none.
PyTypeObject* type_stood_for(PyObject* object, ProxyKind kind) noexcept;
inline PyTypeObject* type_stood_for(PyObject* object) noexcept { return type_stood_for(object, proxy_kind(object)); }
// type(object) as the program sees it.
inline PyTypeObject* reported_type(PyObject* object) noexcept {
  PyTypeObject* shown = type_stood_for(object);
  return shown ? shown : Py_TYPE(object);
}
// The real class for the class of a stand-in, should native code have given that; any other class is itself.
PyTypeObject* reported_class(PyObject* type) noexcept;

// Reading an attribute of a stand-in: false if the trace was given up, since only the real object could tell.
bool can_show_attribute(Tracer& tracer, PyObject* object, PyObject* name);
// isinstance(stand-in, classes), where that is answered by the classes alone; null Ref without error if it is not.
Ref is_shown_instance(Tracer& tracer, PyObject* object, PyObject* classes);
// The stand-in's own method for a method of the real type that is called with it as the first argument; `callable`
// itself in all other cases, null Ref on a break.
Ref method_for_shadow(Tracer& tracer, PyObject* callable, const Arguments& arguments);

}  // namespace minidynamo
