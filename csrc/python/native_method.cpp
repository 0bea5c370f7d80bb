#include "python/native_method.h"

#include <vector>

#include "python/process/out_of_memory.h"
#include "python/version/type_version.h"

namespace minidynamo {

Ref call_native_method(PyObject* object, PyObject* name, std::initializer_list<PyObject*> arguments,
                       PyObject* keyword_names) {
  PyTypeObject* type = native_base(Py_TYPE(object));
  PyObject* method = class_attribute(type, name);
  if (!method) {
    PyErr_Format(PyExc_AttributeError, "'%.100s' object has no attribute '%U'", type->tp_name, name);
    return nullptr;
  }
  std::vector<PyObject*> values = {object};
  values.insert(values.end(), arguments);
  const Py_ssize_t keywords = keyword_names ? PyTuple_GET_SIZE(keyword_names) : 0;
  return Ref::steal(
      PyObject_Vectorcall(method, values.data(), values.size() - static_cast<size_t>(keywords), keyword_names));
}

Ref call_native_method(PyObject* object, const char* name, std::initializer_list<PyObject*> arguments) {
  return call_native_method(object, Ref::made(PyUnicode_InternFromString(name)).get(), arguments);
}

}  // namespace minidynamo
