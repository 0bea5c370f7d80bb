#include "world/external/class_lookup.h"

#include "python/process/nesting.h"
#include "python/unstable.h"
#include "python/version/type_version.h"
#include "tensor/fake/fake.h"
#include "world/external/enter.h"
#include "world/external/pin.h"
#include "world/state/tracer.h"

namespace minidynamo {
namespace {

// True if the classes from `index` on are those that the class there looks through itself.
bool is_rest_of_order(PyObject* order, Py_ssize_t index) {
  PyObject* own = as_type(PyTuple_GET_ITEM(order, index))->tp_mro;
  if (!own || PyTuple_GET_SIZE(order) - index != PyTuple_GET_SIZE(own)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(own); ++i)
    if (PyTuple_GET_ITEM(own, i) != PyTuple_GET_ITEM(order, index + i)) return false;
  return true;
}

// Calls visit(source) for the class, or, if the trace made it, for those of its bases that were there before.
template <typename Visit>
void each_mutable_class(Tracer& tracer, PyTypeObject* type, Visit visit) {
  if (!is_mutable_class(type)) return;
  auto* object = as_object(type);
  if (!tracer.classes.has(object)) return visit(source_or_pin(tracer, object));
  for (Py_ssize_t i = 1; i < PyTuple_GET_SIZE(type->tp_mro); ++i) {
    PyObject* base = PyTuple_GET_ITEM(type->tp_mro, i);
    if (is_mutable_class(as_type(base)) && !tracer.classes.has(base)) visit(source_or_pin(tracer, base));
  }
}

// As lookup_in_class, for a class that the trace made: what it or such a base has itself is the trace's own.
Ref lookup_in_made_class(Tracer& tracer, PyTypeObject* type, PyObject* name) {
  Ref order = Ref::borrow(type->tp_mro);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(order.get()); ++i) {
    auto* base = as_type(PyTuple_GET_ITEM(order.get(), i));
    if (tracer.classes.has(as_object(base))) {
      if (PyObject* own = PyDict_GetItemWithError(namespace_of(base), name)) return Ref::borrow(own);
      if (PyErr_Occurred()) return nullptr;
      continue;
    }
    // The result of a lookup in the base is guarded; that also says when the base does not have it itself.
    Ref found = lookup_in_class(tracer, base, name);
    if (!found && PyErr_Occurred()) return nullptr;
    if (is_rest_of_order(order.get(), i) || (found && class_has_itself(tracer, base, name))) return found;
  }
  return nullptr;
}

}  // namespace

// True if a class's own namespace has the name, by now.
bool class_has_itself(Tracer& tracer, PyTypeObject* type, PyObject* name) {
  if (tracer.effects.writes_classes())
    if (const AttributeWrite* write = tracer.effects.pending(as_object(type), name))
      return static_cast<bool>(write->value);
  return PyDict_GetItemWithError(namespace_of(type), name) != nullptr;
}

void guard_has_not_itself(Tracer& tracer, PyTypeObject* type, PyObject* name) {
  auto* object = as_object(type);
  if (!is_mutable_class(type) || tracer.classes.has(object)) return;
  Source* own =
      tracer.guards.child(source_or_pin(tracer, object), Access::InstanceDict, nullptr, -1, namespace_of(type));
  tracer.guards.add_missing(own, Access::DictItem, name, -1, tracer.origin());
}

Ref lookup_in_class(Tracer& tracer, PyTypeObject* type, PyObject* name) {
  if (tracer.classes.has(as_object(type))) return lookup_in_made_class(tracer, type, name);
  if (tracer.effects.writes_classes()) {
    PyObject* mro = type->tp_mro;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(mro); ++i) {
      PyObject* base = PyTuple_GET_ITEM(mro, i);
      if (const AttributeWrite* write = tracer.effects.pending(base, name)) {
        if (i > 0) guard_bases(tracer, type);  // the classes before it have to stay without the name
        for (Py_ssize_t before = 0; before < i; ++before)
          guard_has_not_itself(tracer, as_type(PyTuple_GET_ITEM(mro, before)), name);
        return write->value;
      }
      if (PyDict_GetItemWithError(namespace_of(as_type(base)), name)) break;
    }
  }
  PyObject* found = class_attribute(type, name);
  if (is_static_class(type)) return Ref::borrow(found);  // immutable
  Source* source = source_or_pin(tracer, as_object(type));
  return load_part(tracer, source, Access::ClassAttribute, name, found);
}

void guard_special_methods(Tracer& tracer, PyObject* object) {
  if (!is_mutable_class(Py_TYPE(object)) || is_fake(object)) return;
  each_mutable_class(tracer, Py_TYPE(object),
                     [&](Source* source) { tracer.guards.add(source, GuardKind::SpecialMethods, tracer.origin()); });
}

void guard_bases(Tracer& tracer, PyTypeObject* type) {
  each_mutable_class(tracer, type,
                     [&](Source* source) { tracer.guards.add(source, GuardKind::Bases, tracer.origin()); });
}

void guard_class_check(Tracer& tracer, PyObject* object, PyObject* classes) {
  if (PyTuple_Check(classes)) {
    const NestingLevel level;
    if (level.is_too_deep()) return void(tracer.abort(BreakReason::ContainerTooLarge, "classes are nested too deep"));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(classes) && !tracer.is_over(); ++i)
      guard_class_check(tracer, object, PyTuple_GET_ITEM(classes, i));
    return;
  }
  if (is_fake(object)) return;
  guard_bases(tracer, PyType_Check(object) ? as_type(object) : Py_TYPE(object));
  guard_special_methods(tracer, object);
  guard_special_methods(tracer, classes);
}

bool has_finalizer(Tracer& tracer, PyTypeObject* type) {
  return is_python_class(type) && lookup_in_class(tracer, type, "__del__"_name);
}

bool refuses_finalizer(Tracer& tracer, PyTypeObject* type) {
  if (!has_finalizer(tracer, type)) return false;
  tracer.abort(BreakReason::Finalizer, std::string("an instance of ") + type->tp_name + " has a finalizer");
  return true;
}

}  // namespace minidynamo
