#include "trace/class_view.h"

#include "trace/attributes.h"
#include "trace/known_types.h"
#include "trace/operations.h"
#include "trace/special.h"

namespace minidynamo {

PyTypeObject* class_of_view(const Tracer& tracer, PyObject* object) noexcept {
  if (!Py_IS_TYPE(object, &PyDictProxy_Type)) return nullptr;
  const Source* source = tracer.outside.source_of(object);
  if (!source || source->access != Access::Attribute || !PyType_Check(source->parent->value.get())) return nullptr;
  return reinterpret_cast<PyTypeObject*>(source->parent->value.get());
}

Ref own_class_attribute(Tracer& tracer, PyTypeObject* type, PyObject* given_name) {
  if (!PyUnicode_CheckExact(given_name)) {
    tracer.give_up(BreakReason::OpaqueObject, "the __dict__ of a class is asked for what is no name");
    return nullptr;
  }
  PyObject* interned = Ref::borrow(given_name).release();
  PyUnicode_InternInPlace(&interned);
  const Ref name = Ref::steal(interned);
  // If the class has it not itself, what its bases give says so.
  Ref found = lookup_in_class(tracer, type, name.get());
  if (!found && PyErr_Occurred()) return nullptr;
  const bool is_own = tracer.outside.pending(reinterpret_cast<PyObject*>(type), name.get()) ||
                      PyDict_GetItemWithError(type->tp_dict, name.get());
  return is_own ? found : Ref();
}

Ref special::class_view_get(Tracer& tracer, PyObject*, const Arguments& arguments) {
  static PyObject* const get = import_object("types.MappingProxyType.get").release();
  const size_t count = arguments.values.size();
  PyTypeObject* type = count ? class_of_view(tracer, arguments.values[0].get()) : nullptr;
  if (!type || arguments.keyword_names || count < 2 || count > 3) return call_natively(tracer, get, arguments);
  Ref found = own_class_attribute(tracer, type, arguments.values[1].get());
  if (found || PyErr_Occurred()) return found;
  return count == 3 ? arguments.values[2] : Ref::none();
}

}  // namespace minidynamo
