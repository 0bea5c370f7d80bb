#include "python/annotations.h"

#include "python/named_item.h"
#include "python/unstable.h"

namespace minidynamo {

bool makes_annotations(PyObject* object, PyObject* name) noexcept {
  if (!kAnnotationsAreLazy || PyUnicode_CompareWithASCIIString(name, "__annotations__") != 0) return false;
  if (PyFunction_Check(object)) return !as_function(object)->func_annotations && annotate_of(as_function(object));
  if (!PyType_Check(object) || !(as_type(object)->tp_flags & Py_TPFLAGS_HEAPTYPE)) return false;
  PyObject* own = namespace_of(as_type(object));
  return !named_item(own, "__annotations__") && !named_item(own, "__annotations_cache__");
}

}  // namespace minidynamo
