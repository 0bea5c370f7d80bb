#include "model/special_method.h"

#include "python/type_version.h"
#include "tensor/fake.h"
#include "world/class_lookup.h"
#include "world/known_types.h"

namespace minidynamo {
Ref python_method(Tracer& tracer, PyObject* object, const char* name) {
  if (!PyType_HasFeature(Py_TYPE(object), Py_TPFLAGS_HEAPTYPE)) return nullptr;
  Ref key = Ref::made(PyUnicode_InternFromString(name));
  Ref method = lookup_in_class(tracer, Py_TYPE(object), key.get());
  return method && PyFunction_Check(method.get()) ? method : Ref();
}

Ref own_tensor_method(Tracer& tracer, PyObject* object, const char* name) {
  static constinit ImportedType tensor_class{"torch.Tensor"};
  if (!is_fake(object) || Py_TYPE(object) == tensor_class) return nullptr;
  Ref key = Ref::made(PyUnicode_InternFromString(name));
  Ref method = lookup_in_class(tracer, Py_TYPE(object), key.get());
  return method && PyFunction_Check(method.get()) && !method.is(class_attribute(tensor_class, key.get())) ? method
                                                                                                          : Ref();
}

}  // namespace minidynamo
