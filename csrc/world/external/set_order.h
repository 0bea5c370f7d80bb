// The order in which a set has its items, which follows from their hashes. Those of objects without a `__hash__` of
// their own are their addresses: the next call, with every guard holding, may bring others, and what a trace makes lies
// elsewhere in each call.
#pragma once
#include <span>

#include "world/state/tracer.h"

namespace minidynamo {

enum class SetOrder : uint8_t { Read, Ignored };

// A set is about to be read in its order. Ends the trace, and returns false, if that follows from addresses.
bool knows_order(Tracer& tracer, PyObject* set);
// The same of the sets among what a C function is called with, unless it is one that asks for no order.
bool knows_orders_read(Tracer& tracer, PyObject* callable, std::span<const Ref> arguments);

// A set or frozenset, or an instance of a class derived from one. (PyAnySet_Check walks the bases of any other class.)
inline bool is_set(PyObject* object) noexcept {
  PyTypeObject* type = Py_TYPE(object);
  if (type == &PySet_Type || type == &PyFrozenSet_Type) return true;
  return PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) && type->tp_basicsize >= PySet_Type.tp_basicsize &&
         PyAnySet_Check(object);
}

}  // namespace minidynamo
