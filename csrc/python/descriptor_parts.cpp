#include "python/descriptor_parts.h"

#include <structmember.h>

#include <cstring>

namespace minidynamo {

void DescriptorParts::add_member(PyObject* descriptor, const char* name) noexcept {
  for (const PyMemberDef* member = Py_TYPE(descriptor)->tp_members; member && member->name; ++member) {
    if (std::strcmp(member->name, name) != 0) continue;
    PyObject* part = *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(descriptor) + member->offset);
    parts_[count_++] = part ? part : Py_None;
    return;
  }
}

DescriptorParts DescriptorParts::of(PyObject* descriptor) noexcept {
  DescriptorParts found;
  PyTypeObject* type = Py_TYPE(descriptor);
  if (type == &PyProperty_Type) {
    for (const char* name : {"fget", "fset", "fdel"}) found.add_member(descriptor, name);
  } else if (type == &PyClassMethod_Type || type == &PyStaticMethod_Type) {
    found.add_member(descriptor, "__func__");
  } else if ((type == &PyMemberDescr_Type || type == &PyGetSetDescr_Type) &&
             PyType_HasFeature(PyDescr_TYPE(descriptor), Py_TPFLAGS_HEAPTYPE)) {
    found.parts_ = {reinterpret_cast<PyObject*>(PyDescr_TYPE(descriptor)), PyDescr_NAME(descriptor)};
    found.count_ = 2;
  }
  return found;
}

}  // namespace minidynamo
