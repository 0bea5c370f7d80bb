// Tells apart the objects by which a trace stands for values that it does not know: proxies.
//
// A protocol (an operator, a call of len(), an item) looks at the kind first, and a switch over it without a default
// makes the compiler ask for a new kind everywhere. Two operands are treated by the kind of the higher rank, as CPython
// lets the method of a subclass decide.
#pragma once
#include <Python.h>

#include <algorithm>
#include <cstdint>

namespace minidynamo {

enum class ProxyKind : uint8_t {  // by rank
  None,                           // none: the object itself
  Bool,                           // a condition on sizes, a torch.SymBool (tensor/symbolic/symbolic_size.h)
  Int,                            // a size or number that may differ at the next call, a torch.SymInt
  FloatOfSizes,                   // a float computed of such, a torch.SymFloat
  Tensor,                         // a fake (tensor/fake/fake.h)
  Float,                          // symbolic_float.h
  RuntimeNumber,                  // runtime_value.h
  RuntimeText,
  Array  // an array or scalar of NumPy (fake_array.h)
};

// The type of the proxies that are no objects of torch's.
struct ProxyType {
  PyTypeObject type;
  ProxyKind kind;
};
// Makes such a type, whose name is that of the type for which it stands. The program does not see it: only native code
// might, and that gets no proxy.
ProxyType make_proxy_type(ProxyKind kind, const char* name, Py_ssize_t size, destructor dealloc) noexcept;

ProxyKind proxy_kind(PyObject* object) noexcept;
inline ProxyKind proxy_kind(PyObject* left, PyObject* right) noexcept {
  return std::max(proxy_kind(left), proxy_kind(right));
}

}  // namespace minidynamo
