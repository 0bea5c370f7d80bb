#include "python/version/type_version.h"

#include <string_view>

#include "python/cached.h"
#include "python/process/out_of_memory.h"

namespace minidynamo {

bool is_python_class(PyTypeObject* type) noexcept {
  static constinit CachedObject example{[](const char* name) {
                                          auto* maker = as_object(&PyType_Type);
                                          return Ref::steal(PyObject_CallFunction(maker, "s(){}", name));
                                        },
                                        "Example"};
  // Python code before CPython 3.12. Its instances get nothing of C's from it.
  if ((type->tp_flags & Py_TPFLAGS_HEAPTYPE) && std::string_view(type->tp_name) == "typing.Generic") return true;
  PyTypeObject* of_statement = nullptr;
  try_to([&] { of_statement = example.type(); });
  if (!of_statement || type->tp_dealloc != of_statement->tp_dealloc) return false;
  // C code that makes a class from a spec without a tp_dealloc of its own is given this one. A spec's class keeps its
  // name in a string of its own, which a class statement's does not.
  return !(type->tp_flags & Py_TPFLAGS_HEAPTYPE) || !reinterpret_cast<PyHeapTypeObject*>(type)->_ht_tpname;
}

bool is_static_class(PyTypeObject* type) noexcept {
  if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE)) return true;
#if PY_VERSION_HEX >= 0x030C0000
  if (!(type->tp_flags & Py_TPFLAGS_IMMUTABLETYPE)) return false;
  const std::string_view name = type->tp_name;
  for (const std::string_view module :
       {"collections.", "itertools.", "_io.", "_collections.", "_pickle.", "_asyncio.", "_socket."})
    if (name.starts_with(module)) return true;
#endif
  return false;
}

PyObject* class_attribute(PyTypeObject* type, PyObject* name) noexcept {
  PyObject* found = _PyType_Lookup(type, name);
  if (!found) clear_error();
  return found;
}

const std::vector<PyObject*>& special_method_names() {
  static constinit Cached<std::vector<PyObject*>> names;
  return *names.get([] {
    auto found = std::make_unique<std::vector<PyObject*>>();
    for (const char* name : {"__abs__",
                             "__add__",
                             "__aenter__",
                             "__aexit__",
                             "__aiter__",
                             "__and__",
                             "__anext__",
                             "__await__",
                             "__bool__",
                             "__bytes__",
                             "__call__",
                             "__ceil__",
                             "__class__",
                             "__class_getitem__",
                             "__complex__",
                             "__contains__",
                             "__copy__",
                             "__deepcopy__",
                             "__del__",
                             "__delattr__",
                             "__delete__",
                             "__delitem__",
                             "__dir__",
                             "__divmod__",
                             "__enter__",
                             "__eq__",
                             "__exit__",
                             "__float__",
                             "__floor__",
                             "__floordiv__",
                             "__format__",
                             "__fspath__",
                             "__ge__",
                             "__get__",
                             "__getattr__",
                             "__getattribute__",
                             "__getitem__",
                             "__getnewargs__",
                             "__getnewargs_ex__",
                             "__getstate__",
                             "__gt__",
                             "__hash__",
                             "__iadd__",
                             "__iand__",
                             "__ifloordiv__",
                             "__ilshift__",
                             "__imatmul__",
                             "__imod__",
                             "__imul__",
                             "__index__",
                             "__init__",
                             "__init_subclass__",
                             "__instancecheck__",
                             "__int__",
                             "__invert__",
                             "__ior__",
                             "__ipow__",
                             "__irshift__",
                             "__isub__",
                             "__iter__",
                             "__itruediv__",
                             "__ixor__",
                             "__le__",
                             "__len__",
                             "__length_hint__",
                             "__lshift__",
                             "__lt__",
                             "__matmul__",
                             "__missing__",
                             "__mod__",
                             "__mro_entries__",
                             "__mul__",
                             "__ne__",
                             "__neg__",
                             "__new__",
                             "__next__",
                             "__or__",
                             "__pos__",
                             "__pow__",
                             "__prepare__",
                             "__radd__",
                             "__rand__",
                             "__rdivmod__",
                             "__reduce__",
                             "__reduce_ex__",
                             "__repr__",
                             "__reversed__",
                             "__rfloordiv__",
                             "__rlshift__",
                             "__rmatmul__",
                             "__rmod__",
                             "__rmul__",
                             "__ror__",
                             "__round__",
                             "__rpow__",
                             "__rrshift__",
                             "__rshift__",
                             "__rsub__",
                             "__rtruediv__",
                             "__rxor__",
                             "__set__",
                             "__set_name__",
                             "__setattr__",
                             "__setitem__",
                             "__setstate__",
                             "__str__",
                             "__sub__",
                             "__subclasscheck__",
                             "__subclasshook__",
                             "__truediv__",
                             "__trunc__",
                             "__xor__"})
      found->push_back(PyUnicode_InternFromString(name));
    return found;
  });
}

}  // namespace minidynamo
