#include "model/native/special_method.h"

#include "model/protocols/abstract.h"
#include "model/protocols/descriptor.h"
#include "python/version/type_version.h"
#include "tensor/fake/fake.h"
#include "world/external/class_lookup.h"
#include "world/external/known_types.h"

namespace minidynamo {
Ref python_method(Tracer& tracer, PyObject* object, const char* name) {
  if (is_static_class(Py_TYPE(object))) return nullptr;
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

Ref own_method(Tracer& tracer, PyObject* object, PyObject* name) {
  Ref method = lookup_in_class(tracer, Py_TYPE(object), name);
  return method && Py_IS_TYPE(method.get(), &PyWrapperDescr_Type) ? Ref() : method;
}

Ref call_own_method(Tracer& tracer, const Ref& method, PyObject* object, PyObject* name,
                    std::initializer_list<Ref> arguments) {
  if (!PyFunction_Check(method.get())) {
    const Ref bound = bind_descriptor(tracer, method.get(), object, name);
    return bound ? call(tracer, bound.get(), arguments) : Ref();
  }
  std::vector<Ref> values{Ref::borrow(object)};
  values.insert(values.end(), arguments.begin(), arguments.end());
  return call(tracer, method.get(), Arguments{values});
}

}  // namespace minidynamo
