#include "model/protocols/descriptor.h"

#include <structmember.h>

#include <optional>
#include <string_view>

#include "model/objects/class_dict.h"
#include "model/objects/exception_context.h"
#include "model/objects/instance_dict.h"
#include "model/protocols/abstract.h"
#include "python/cached.h"
#include "python/code/annotations.h"
#include "python/error_text.h"
#include "python/native_scope.h"
#include "python/objects/native_contents.h"
#include "python/process/out_of_memory.h"
#include "python/process/warning_trap.h"
#include "python/unstable.h"
#include "python/version/type_version.h"
#include "world/external/class_lookup.h"
#include "world/external/enter.h"
#include "world/external/known_types.h"
#include "world/external/pin.h"
#include "world/external/types.h"
#include "world/native/native_code.h"

namespace minidynamo {
namespace {

const PyMemberDef& member_of(PyObject* descriptor) noexcept {
  return *reinterpret_cast<PyMemberDescrObject*>(descriptor)->d_member;
}

// C types of descriptors that only make a bound method of the object, or take an item of a tuple.
bool binds_only(PyTypeObject* kind) {
  static constinit ImportedType tuple_getter{"_collections._tuplegetter"};
  static constinit ImportedType cached{"functools._lru_cache_wrapper"};
  return kind == &PyMethodDescr_Type || kind == &PyWrapperDescr_Type || kind == &PyClassMethodDescr_Type ||
         kind == &PyInstanceMethod_Type || kind == &PySuper_Type || kind == &PyMethod_Type || kind == tuple_getter ||
         kind == cached || std::string_view(kind->tp_name).ends_with("cython_function_or_method");
}

bool is_class_method(PyTypeObject* type) noexcept { return type->tp_descr_get == PyClassMethod_Type.tp_descr_get; }

bool is_static_method(PyTypeObject* type) noexcept { return type->tp_descr_get == PyStaticMethod_Type.tp_descr_get; }

// The result of the __get__ that a descriptor's class has as a Python function; null Ref without a Python error: it has
// none.
Ref call_python_get(Tracer& tracer, PyObject* descriptor, PyObject* object, PyObject* owner) {
  PyTypeObject* kind = Py_TYPE(descriptor);
  if (is_static_class(kind)) return nullptr;
  const Ref get = lookup_in_class(tracer, kind, "__get__"_name);
  if (!get || !PyFunction_Check(get.get())) return nullptr;
  return call(tracer, get.get(), {Ref::borrow(descriptor), Ref::borrow(object), Ref::borrow(owner)});
}

// The result of a classmethod that wraps another descriptor.
Ref bind_to_class(Tracer& tracer, PyObject* descriptor, PyObject* owner) {
  Ref got = call_python_get(tracer, descriptor, owner, owner);
  return got || PyErr_Occurred() ? got : bind_descriptor(tracer, descriptor, owner, "__get__"_name);
}

}  // namespace

Ref function_of_generic(Tracer& tracer, PyObject* method) {
  static constinit Imported brackets{"typing._generic_class_getitem"}, subclass{"typing._generic_init_subclass"};
  if (!Py_IS_TYPE(method, &PyClassMethodDescr_Type) ||
      std::string_view(PyDescr_TYPE(method)->tp_name) != "typing.Generic")
    return nullptr;
  const bool is_subclass = PyUnicode_CompareWithASCIIString(PyDescr_NAME(method), "__init_subclass__") == 0;
  PyObject* function = is_subclass ? subclass : brackets;
  source_or_pin(tracer, function);
  return Ref::borrow(function);
}

namespace {

bool is_getter(PyTypeObject* kind) noexcept { return kind == &PyGetSetDescr_Type || kind == &PyMemberDescr_Type; }

}  // namespace

bool is_read_only(PyObject* member_descriptor) noexcept { return member_of(member_descriptor).flags & READONLY; }

bool is_slot(PyObject* member_descriptor) noexcept { return member_of(member_descriptor).type == T_OBJECT_EX; }

bool is_data_descriptor(PyObject* object) noexcept { return Py_TYPE(object)->tp_descr_set != nullptr; }

Ref descriptor_part(Tracer& tracer, PyObject* descriptor, const char* attribute) {
  const Ref name = Ref::steal(interned(attribute));
  Ref raw = native_attribute(descriptor, name.get());
  if (!raw || !tracer.world.source_of(descriptor)) return raw;
  return load_part(tracer, tracer.world.source_of(descriptor), Access::Attribute, name.get(), raw.get());
}

Ref load_native_attribute(Tracer& tracer, PyObject* object, PyObject* name, PyObject* descriptor) {
  Source* source = tracer.world.source_of(object);
  const bool is_class = PyType_Check(object) && is_mutable_class(as_type(object));
  if (!source && is_class && !tracer.classes.has(object) && has_known_attributes(PyDescr_TYPE(descriptor)))
    source = source_or_pin(tracer, object);  // a class found by one of its objects
  if (!source && PyFunction_Check(object) && !tracer.made.functions.count(Ref::borrow(object)) &&
      makes_annotations(object, name)) {
    source_or_pin(tracer, object);  // a function that C code found
    return load_function_part(tracer, object, PyUnicode_AsUTF8(name));
  }
  if (const AttributeWrite* write = source ? tracer.effects.pending(object, name) : nullptr)
    return write->value ? write->value : attribute_error(object, name);
  if (source && !has_known_attributes(PyDescr_TYPE(descriptor)))
    return tracer.abort(BreakReason::OpaqueObject, std::string("attribute '") + PyUnicode_AsUTF8(name) + "' of a " +
                                                       Py_TYPE(object)->tp_name + " is kept by native code");
  PyObject* owner = source ? source->value.get() : object;  // the object that it stands for has the attributes
  const WarningTrap trap;
  Ref raw = Ref::steal(Py_TYPE(descriptor)->tp_descr_get(descriptor, owner, as_object(Py_TYPE(object))));
  if (trap.has_caught()) return refuse_what_warns(tracer, std::string("attribute ") + PyUnicode_AsUTF8(name));
  if (tracer.is_over()) return raw;
  if (!source) return checked_context(tracer, object, name, std::move(raw));
  if (!raw) {  // an empty slot
    tracer.guards.add_missing(source, Access::Attribute, name, -1, tracer.origin());
    return nullptr;
  }
  return load_part(tracer, tracer.world.source_of(object), Access::Attribute, name, raw.get());
}

// The value that a descriptor found in a class yields for an instance.
Ref bind_descriptor(Tracer& tracer, PyObject* descriptor, PyObject* object, PyObject* name) {
  PyTypeObject* kind = Py_TYPE(descriptor);
  guard_special_methods(tracer, descriptor);  // its class may have no __get__ yet
  if (PyFunction_Check(descriptor)) return Ref::made(PyMethod_New(descriptor, object));
  if (kind == &PyProperty_Type || PyType_IsSubtype(kind, &PyProperty_Type)) {
    Ref getter = descriptor_part(tracer, descriptor, "fget");
    if (!getter) return nullptr;
    if (getter.is(Py_None))  // which only raises then
      return Ref::steal(kind->tp_descr_get(descriptor, object, as_object(Py_TYPE(object))));
    return call(tracer, getter.get(), {Ref::borrow(object)});
  }
  if (is_static_method(kind)) return descriptor_part(tracer, descriptor, "__func__");
  if (is_class_method(kind)) {
    Ref function = descriptor_part(tracer, descriptor, "__func__");
    if (!function) return nullptr;
    PyObject* owner = PyType_Check(object) ? object : as_object(Py_TYPE(object));
    return kClassMethodAsksDescriptors && Py_TYPE(function.get())->tp_descr_get && !PyFunction_Check(function.get())
               ? bind_to_class(tracer, function.get(), owner)
               : Ref::made(PyMethod_New(function.get(), owner));
  }
  if (kind == &PyMemberDescr_Type || kind == &PyGetSetDescr_Type) {
    if (name == "__class__"_name) return Ref::borrow(as_object(Py_TYPE(object)));
    const bool is_class = PyType_Check(object);  // whose __dict__ is a read-only view
    if (name == "__annotations__"_name && is_class) {
      Ref made = make_class_annotations(tracer, as_type(object));
      if (made || PyErr_Occurred()) return made;
    }
    if (name == "__dict__"_name && is_class) return load_class_dict(tracer, as_type(object));
    if (name == "__dict__"_name && tracer.world.source_of(object)) return load_own_dict(tracer, object);
    if (name == "__dict__"_name) {
      Ref dict = Ref::steal(PyObject_GenericGetDict(object, nullptr));
      const bool is_own = dict && !tracer.made.given_dicts.count(Ref::borrow(object));
      if (is_own) tracer.made.instance_dicts.emplace(dict.get(), Ref::borrow(object));
      return dict;
    }
    return load_native_attribute(tracer, object, name, descriptor);
  }
  if (!kind->tp_descr_get) return Ref::borrow(descriptor);
  if (const Ref function = function_of_generic(tracer, descriptor))
    return Ref::made(PyMethod_New(function.get(), PyType_Check(object) ? object : as_object(Py_TYPE(object))));
  PyObject* owner = as_object(Py_TYPE(object));
  if (Ref got = call_python_get(tracer, descriptor, object, owner); got || PyErr_Occurred()) return got;
  // A descriptor of unknown C code (a field of a ctypes structure) may yield another value at the next call.
  if (!binds_only(kind) && (tracer.world.source_of(object) || PyType_Check(object)))
    return tracer.abort(BreakReason::OpaqueObject, std::string("an attribute of a ") + Py_TYPE(object)->tp_name +
                                                       " is kept by native code (" + kind->tp_name + ")");
  // A bound C method works on the container itself, whenever it is called.
  if (!materialize_if_shadow(tracer, object)) return nullptr;
  Ref bound = Ref::steal(kind->tp_descr_get(descriptor, object, owner));
  return tracer.is_over() ? Ref() : bound;
}

Ref bind_without_instance(Tracer& tracer, const Ref& attribute, PyTypeObject* type, PyObject* name) {
  PyTypeObject* kind = Py_TYPE(attribute.get());
  guard_special_methods(tracer, attribute.get());  // its class may have no __get__ yet
  if (PyFunction_Check(attribute.get()) || !kind->tp_descr_get) return attribute;
  if (is_static_method(kind) || is_class_method(kind))
    return bind_descriptor(tracer, attribute.get(), as_object(type), name);
  if (kind == &PyProperty_Type) return attribute;
  PyObject* owner = as_object(type);
  if (const Ref function = function_of_generic(tracer, attribute.get()))
    return Ref::made(PyMethod_New(function.get(), owner));
  if (Ref got = call_python_get(tracer, attribute.get(), Py_None, owner); got || PyErr_Occurred()) return got;
  if (!binds_only(kind) && !is_getter(kind) && kind->tp_descr_get != PyProperty_Type.tp_descr_get)
    return tracer.abort(BreakReason::OpaqueObject, std::string("an attribute of class ") + type->tp_name +
                                                       " is kept by native code (" + kind->tp_name + ")");
  Ref bound = Ref::steal(kind->tp_descr_get(attribute.get(), nullptr, owner));
  return tracer.is_over() ? Ref() : bound;
}

bool enter_functions_of_property(Tracer& tracer, PyObject* object) {
  if (!PyObject_TypeCheck(object, &PyProperty_Type) || !tracer.world.source_of(object)) return true;
  for (const char* part : {"fget", "fset", "fdel"})
    if (!descriptor_part(tracer, object, part)) return false;
  return true;
}

Ref load_function_part(Tracer& tracer, PyObject* function, const char* attribute) {
  const Ref name = Ref::steal(interned(attribute));
  // Annotations of before are made of objects from before, once, as if the program had asked for them earlier.
  std::optional<NativeScope> untraced;
  if (tracer.world.source_of(function) && makes_annotations(function, name.get())) untraced.emplace();
  Ref raw = Ref::steal(PyObject_GetAttr(function, name.get()));
  if (untraced && !raw) return tracer.abort(BreakReason::UnsupportedObject, "annotations that cannot be evaluated yet");
  if (!raw || !tracer.world.source_of(function)) return raw;
  if (std::string_view(attribute) == "__globals__") {  // names, rather than a dict
    Source* names = tracer.guards.child(tracer.world.source_of(function), Access::Attribute, name.get(), -1, raw.get());
    tracer.guards.add(names, GuardKind::Names, tracer.origin());
    return namespace_source(tracer, raw.get()) ? raw : Ref();
  }
  return load_part(tracer, tracer.world.source_of(function), Access::Attribute, name.get(), raw.get());
}

}  // namespace minidynamo
