#include "world/native/address_hash.h"

#include "guard/constants.h"
#include "python/code/bound_method.h"
#include "python/version/dict_version.h"
#include "tensor/fake/fake.h"

namespace minidynamo {

PyObject* identity_behind(PyObject* object) noexcept {
  if (PyMethod_Check(object)) return PyMethod_GET_SELF(object);
  if (PyDictViewSet_Check(object) || PyDictValues_Check(object)) return dict_of_view(object);
  if (!PyWeakref_CheckRefExact(object)) return nullptr;
  PyObject* referent = PyWeakref_GET_OBJECT(object);
  return referent == Py_None ? nullptr : referent;
}

bool is_hashed_by_address(PyObject* object) noexcept {
  return Py_TYPE(object)->tp_hash == PyBaseObject_Type.tp_hash || PyFunction_Check(object) || PyMethod_Check(object) ||
         PyCFunction_Check(object) || PyWeakref_CheckRefExact(object) || is_bound_slot(object) || is_fake(object) ||
         is_nan(object);
}

}  // namespace minidynamo
