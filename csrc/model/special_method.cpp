#include "model/special_method.h"

#include "world/class_lookup.h"

namespace minidynamo {
Ref python_method(Tracer& tracer, PyObject* object, const char* name) {
  if (!PyType_HasFeature(Py_TYPE(object), Py_TPFLAGS_HEAPTYPE)) return nullptr;
  Ref key = Ref::made(PyUnicode_InternFromString(name));
  Ref method = lookup_in_class(tracer, Py_TYPE(object), key.get());
  return method && PyFunction_Check(method.get()) ? method : Ref();
}

}  // namespace minidynamo
