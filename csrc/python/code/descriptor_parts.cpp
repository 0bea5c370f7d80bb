#include "python/code/descriptor_parts.h"

#include <structmember.h>

#include <cstring>

namespace minidynamo {

namespace {

// Where C code of a type keeps what it shows under a name.
Py_ssize_t offset_of(const PyTypeObject& type, const char* name) noexcept {
  const PyMemberDef* member = type.tp_members;
  while (std::strcmp(member->name, name) != 0) ++member;
  return member->offset;
}

// Asked for at each check of a guard.
const Py_ssize_t kOfProperty[] = {offset_of(PyProperty_Type, "fget"), offset_of(PyProperty_Type, "fset"),
                                  offset_of(PyProperty_Type, "fdel")};
const Py_ssize_t kOfClassMethod = offset_of(PyClassMethod_Type, "__func__");
const Py_ssize_t kOfStaticMethod = offset_of(PyStaticMethod_Type, "__func__");

}  // namespace

void DescriptorParts::add(PyObject* descriptor, Py_ssize_t offset) noexcept {
  PyObject* part = *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(descriptor) + offset);
  parts_[count_++] = part ? part : Py_None;
}

DescriptorParts DescriptorParts::of(PyObject* descriptor) noexcept {
  DescriptorParts found;
  PyTypeObject* type = Py_TYPE(descriptor);
  if (type == &PyProperty_Type) {
    for (const Py_ssize_t offset : kOfProperty) found.add(descriptor, offset);
  } else if (type == &PyClassMethod_Type) {
    found.add(descriptor, kOfClassMethod);
  } else if (type == &PyStaticMethod_Type) {
    found.add(descriptor, kOfStaticMethod);
  } else if ((type == &PyMemberDescr_Type || type == &PyGetSetDescr_Type) &&
             PyType_HasFeature(PyDescr_TYPE(descriptor), Py_TPFLAGS_HEAPTYPE)) {
    found.parts_ = {as_object(PyDescr_TYPE(descriptor)), PyDescr_NAME(descriptor)};
    found.count_ = 2;
  }
  return found;
}

}  // namespace minidynamo
