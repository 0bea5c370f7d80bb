// Writing attributes. On objects from before the trace they go into the effect log.
#include "model/protocols/store_attribute.h"

#include "model/native/special_method.h"
#include "model/objects/class_dict.h"
#include "model/objects/instance_dict.h"
#include "model/protocols/abstract.h"
#include "model/protocols/attribute.h"
#include "model/protocols/descriptor.h"
#include "model/proxies/size_operation.h"
#include "model/tensors/store_tensor_attribute.h"
#include "python/error_text.h"
#include "python/process/warning_trap.h"
#include "python/version/dict_version.h"
#include "python/version/type_version.h"
#include "tensor/fake/fake.h"
#include "world/external/class_lookup.h"
#include "world/external/enter.h"
#include "world/external/known_types.h"
#include "world/external/pin.h"
#include "world/native/native_code.h"

namespace minidynamo {
namespace {

bool is_dunder(PyObject* name) noexcept {
  const char* text = PyUnicode_AsUTF8(name);
  return !text || (text[0] == '_' && text[1] == '_');
}

// An attribute that the user puts on a function: none of those that make the function what it is.
bool is_own_name_of_function(PyObject* function, PyObject* name) noexcept {
  return !is_dunder(name) && !class_attribute(Py_TYPE(function), name);
}

// True for a plain value in a class's namespace: C code keeps no slot for it, and no metaclass intercepts the write, in
// Python or in C.
bool can_write_class(Tracer& tracer, PyTypeObject* type, PyObject* name) {
  if (!is_python_class(type) || is_dunder(name)) return false;
  Ref setter = lookup_in_class(tracer, Py_TYPE(type), "__setattr__"_name);
  Ref descriptor = lookup_in_class(tracer, Py_TYPE(type), name);
  return setter && setter.is(class_attribute(&PyType_Type, "__setattr__"_name)) && !descriptor && !PyErr_Occurred();
}

// True if C code takes an attribute's value, of which it may keep a number and not the object.
bool is_taken_by_native_code(PyObject* object, PyObject* name) {
  PyObject* descriptor = class_attribute(Py_TYPE(object), name);
  if (!descriptor) return false;
  if (Py_IS_TYPE(descriptor, &PyMemberDescr_Type)) return !is_slot(descriptor);
  return Py_IS_TYPE(descriptor, &PyGetSetDescr_Type);
}

// A module's namespace, which its functions know as their globals.
bool store_in_module(Tracer& tracer, PyObject* module, PyObject* name, PyObject* value) {
  PyObject* globals = PyModule_GetDict(module);
  if (!namespace_source(tracer, globals)) return false;
  if (!value) {
    const AttributeWrite* write = tracer.effects.pending(globals, name);
    const Ref present = write ? write->value : load_from_instance(tracer, module, name);
    if (!present) return PyErr_Occurred() ? false : static_cast<bool>(attribute_error(module, name));
  }
  tracer.effects.write(globals, name, value);
  return true;
}

}  // namespace

bool store_attribute(Tracer& tracer, PyObject* object, PyObject* name, PyObject* value) {
  PyTypeObject* type = Py_TYPE(object);
  if (is_fake(object)) return store_tensor_attribute(tracer, object, name, value);
  if (tracer.world.is_opaque(object)) return use_opaque(tracer, object);
  if (!tracer.world.source_of(object)) {
    if (value && !materialize_if_shadow(tracer, value)) return false;
    Ref number;
    if (value && stands_for_number(tracer, value) && is_taken_by_native_code(object, name)) {
      number = specialized(tracer, value);
      if (!number) return false;
      value = number.get();
    }
    guard_special_methods(tracer, object);
    if (tracer.is_over()) return false;
    if (PyType_Check(object) && !tracer.classes.has(object))
      return tracer.abort(BreakReason::ClassAttributeWrite, "a class attribute is set") != nullptr;
    std::optional<WarningTrap> trap;
    if (PyFunction_Check(object)) trap.emplace();  // CPython 3.13 warns where __code__ is of another kind
    const bool is_set = PyObject_SetAttr(object, name, value) == 0 && !tracer.is_over();
    return (!trap || gave_no_warning(tracer, *trap, "an attribute of a function that is set")) && is_set &&
           note_given_dict(tracer, object, name, value);
  }
  if (PyFunction_Check(object) && value && is_own_name_of_function(object, name)) {
    tracer.effects.write(object, name, value);
    return true;
  }
  if (PyType_Check(object) && is_class_dict_in_use(tracer, as_type(object)))
    return tracer.abort(BreakReason::ClassAttributeWrite, "an attribute of a class whose __dict__ is in use is set") !=
           nullptr;
  if (PyType_Check(object) && value && can_write_class(tracer, as_type(object), name)) {
    tracer.effects.write_class(object, name, value);
    return true;
  }
  if (tracer.is_over()) return false;
  if (PyType_Check(object) || PyFunction_Check(object))
    return tracer.abort(BreakReason::OutsideAttributeWrite,
                        std::string("an attribute of a ") + type->tp_name + " is set") != nullptr;
  // An attribute that only this thread has, as the frame that runs the residual code.
  if (type == known_types()->thread_local_storage && value && !is_dunder(name)) {
    tracer.effects.write(object, name, value);
    return true;
  }
  if (has_native_access(type, "__setattr__"_name, reinterpret_cast<const void*>(PyObject_GenericSetAttr)))
    return tracer.abort(BreakReason::OpaqueObject,
                        std::string("an attribute of a ") + type->tp_name + " is set by native code") != nullptr;
  // __setattr__ of nn.Module and other classes that override it is Python code that ends in object.__setattr__.
  PyObject* method_name = value ? "__setattr__"_name : "__delattr__"_name;
  const Ref override = own_method(tracer, object, method_name);
  if (!override && PyErr_Occurred()) return false;
  if (override) {
    const Ref done =
        value ? call_own_method(tracer, override, object, method_name, {Ref::borrow(name), Ref::borrow(value)})
              : call_own_method(tracer, override, object, method_name, {Ref::borrow(name)});
    return static_cast<bool>(done);
  }
  return store_in_instance(tracer, object, name, value);
}

bool store_in_instance(Tracer& tracer, PyObject* object, PyObject* name, PyObject* value) {
  if (!tracer.world.source_of(object)) {
    if (value && !materialize_if_shadow(tracer, value)) return false;
    return PyObject_GenericSetAttr(object, name, value) == 0 && !tracer.is_over() &&
           note_given_dict(tracer, object, name, value);
  }
  Ref descriptor = lookup_in_class(tracer, Py_TYPE(object), name);
  if (!descriptor && PyErr_Occurred()) return false;
  if (descriptor && is_data_descriptor(descriptor.get())) {
    if (Py_IS_TYPE(descriptor.get(), &PyProperty_Type)) {
      Ref function = descriptor_part(tracer, descriptor.get(), value ? "fset" : "fdel");
      if (!function) return false;
      if (function.is(Py_None))  // which only raises then
        return Py_TYPE(descriptor.get())->tp_descr_set(descriptor.get(), object, value) == 0;
      Ref done = value ? call(tracer, function.get(), {Ref::borrow(object), Ref::borrow(value)})
                       : call(tracer, function.get(), {Ref::borrow(object)});
      return static_cast<bool>(done);
    }
    const Ref setter = lookup_in_class(tracer, descriptor.type(), value ? "__set__"_name : "__delete__"_name);
    if (PyErr_Occurred()) return false;
    if (setter && PyFunction_Check(setter.get())) {
      const Ref done = value ? call(tracer, setter.get(), {descriptor, Ref::borrow(object), Ref::borrow(value)})
                             : call(tracer, setter.get(), {descriptor, Ref::borrow(object)});
      return static_cast<bool>(done);
    }
    const bool is_member = Py_IS_TYPE(descriptor.get(), &PyMemberDescr_Type);
    if (is_member && !PyObject_TypeCheck(object, PyDescr_TYPE(descriptor.get())))  // another class's, which only raises
      return descriptor.type()->tp_descr_set(descriptor.get(), object, value) == 0;
    if (is_member && is_read_only(descriptor.get())) {
      PyErr_SetString(PyExc_AttributeError, "readonly attribute");
      return false;
    }
    if (!is_member || !is_slot(descriptor.get()))
      return tracer.abort(BreakReason::OutsideAttributeWrite,
                          std::string("attribute '") + PyUnicode_AsUTF8(name) +
                              "' of an object from before the call is set through a descriptor") != nullptr;
  } else if (!has_instance_dict(Py_TYPE(object))) {
    return PyObject_GenericSetAttr(object, name, value) == 0;  // which only raises then
  }
  if (PyModule_Check(object) && !(descriptor && is_data_descriptor(descriptor.get())))
    return store_in_module(tracer, object, name, value);
  if (!value) {
    const bool is_slot = descriptor && Py_IS_TYPE(descriptor.get(), &PyMemberDescr_Type);
    Ref present = is_slot ? load_native_attribute(tracer, object, name, descriptor.get())
                          : load_from_instance(tracer, object, name);
    if (!present && is_slot && !tracer.is_over() && PyErr_ExceptionMatches(PyExc_AttributeError))
      PyErr_SetObject(PyExc_AttributeError, name);  // all that CPython says of an empty one
    if (!present) return PyErr_Occurred() ? false : static_cast<bool>(attribute_error(object, name));
  }
  const bool goes_to_slot = descriptor && Py_IS_TYPE(descriptor.get(), &PyMemberDescr_Type);
  if (goes_to_slot) {
    tracer.effects.write(object, name, value);
    return true;
  }
  if (ShadowContainer* in_use = shared_instance_dict(tracer, object)) {
    if (!value) return PyDict_DelItem(in_use->object.get(), name) == 0;
    return materialize_if_shadow(tracer, value) && PyDict_SetItem(in_use->object.get(), name, value) == 0;
  }
  if (tracer.is_over()) return false;
  tracer.effects.write_in_dict(object, instance_dict(tracer.world.source_of(object)->value.get()), name, value);
  return true;
}

}  // namespace minidynamo
