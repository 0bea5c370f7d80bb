// Attribute access. On objects that the trace made, the instance part is CPython's own; the class part is always looked
// up here, so that what was found in a class is guarded.
#include "model/protocols/attribute.h"

#include <structmember.h>

#include <optional>
#include <string>
#include <unordered_set>

#include "model/native/reported_type.h"
#include "model/native/special_method.h"
#include "model/objects/exception_context.h"
#include "model/objects/frame_object.h"
#include "model/objects/generic_alias.h"
#include "model/objects/instance_dict.h"
#include "model/protocols/abstract.h"
#include "model/protocols/descriptor.h"
#include "model/proxies/numpy_call.h"
#include "model/tensors/tensor_attribute.h"
#include "model/tensors/tensor_call.h"
#include "python/cached.h"
#include "python/error_set_aside.h"
#include "python/error_text.h"
#include "python/objects/native_contents.h"
#include "python/process/out_of_memory.h"
#include "python/process/warning_trap.h"
#include "python/version/dict_version.h"
#include "python/version/type_version.h"
#include "world/external/class_lookup.h"
#include "world/external/container_reads.h"
#include "world/external/enter.h"
#include "world/external/generic_alias.h"
#include "world/external/known_types.h"
#include "world/external/scope.h"
#include "world/external/types.h"
#include "world/native/native_code.h"
#include "world/proxies/fake_array.h"
#include "world/proxies/proxy.h"

namespace minidynamo {
namespace {

// True if a type's attribute access is the generic one, possibly with a Python __getattr__ or __getattribute__.
bool is_generic_getattr(PyTypeObject* type) noexcept {
  return type->tp_getattro == PyObject_GenericGetAttr || !is_static_class(type);
}

// CPython's own lookup. A getter of C may warn (code.co_lnotab), by filters that the program may have changed.
Ref look_up_natively(Tracer& tracer, PyObject* object, PyObject* name) {
  PyObject* const descriptor = class_attribute(Py_TYPE(object), name);
  std::optional<WarningTrap> trap;
  if (descriptor && Py_IS_TYPE(descriptor, &PyGetSetDescr_Type)) trap.emplace();
  Ref value = Ref::steal(PyObject_GetAttr(object, name));
  if (trap && trap->has_caught()) return refuse_what_warns(tracer, std::string("attribute ") + PyUnicode_AsUTF8(name));
  return value;
}

// An attribute that this thread has in a threading.local.
Ref load_from_thread_local(Tracer& tracer, PyObject* object, PyObject* name) {
  Source* source = tracer.world.source_of(object);
  if (const AttributeWrite* write = tracer.effects.pending(object, name)) return write->value;
  if (name == "__dict__"_name && tracer.effects.has_writes(object))
    return tracer.abort(BreakReason::OpaqueObject, "the __dict__ of a _thread._local that has been written to");
  Ref raw = Ref::steal(PyObject_GetAttr(object, name));
  if (raw) return load_part(tracer, source, Access::Attribute, name, raw.get());
  if (PyErr_ExceptionMatches(PyExc_AttributeError)) {
    const ErrorSetAside error;
    tracer.guards.add_missing(source, Access::Attribute, name, -1, tracer.origin());
  }
  return nullptr;
}

// nn.Module.__getattr__ in one step: _parameters, _buffers, _modules of the instance, in that order.
Ref load_from_module_tables(Tracer& tracer, PyObject* object, PyObject* name, bool& found) {
  static PyObject* const tables[] = {"_parameters"_name, "_buffers"_name, "_modules"_name};
  found = false;
  for (PyObject* table_name : tables) {
    Ref table = load_from_instance(tracer, object, table_name);
    if (!table) {
      if (PyErr_Occurred()) return nullptr;
      continue;
    }
    ShadowContainer* shadow = tracer.world.shadow(table.get());
    if (shadow && !shadow->filled) {
      Ref value = item_of_shadow(tracer, *shadow, name, found);
      if (found || PyErr_Occurred()) return value;
    } else if (PyDict_Check(table.get())) {
      PyObject* value = PyDict_GetItemWithError(table.get(), name);
      found = value != nullptr;
      if (found || PyErr_Occurred()) return Ref::borrow(value);
    }
  }
  return nullptr;
}

Ref load_from_type(Tracer& tracer, PyTypeObject* type, PyObject* name) {
  PyTypeObject* meta = Py_TYPE(type);
  Ref meta_attribute = lookup_in_class(tracer, meta, name);
  if (!meta_attribute && PyErr_Occurred()) return nullptr;
  if (meta_attribute && Py_TYPE(meta_attribute.get())->tp_descr_get && is_data_descriptor(meta_attribute.get()))
    return bind_descriptor(tracer, meta_attribute.get(), as_object(type), name);
  Ref attribute = lookup_in_class(tracer, type, name);
  if (!attribute && PyErr_Occurred()) return nullptr;
  if (attribute) return bind_without_instance(tracer, attribute, type, name);
  if (meta_attribute) return bind_descriptor(tracer, meta_attribute.get(), as_object(type), name);
  PyErr_Format(PyExc_AttributeError, "type object '%.50s' has no attribute '%U'", type->tp_name, name);
  return nullptr;
}

// True if an AttributeError is set, which a __getattr__ may answer in place of.
bool attribute_is_missing(Tracer& tracer) {
  return !tracer.is_over() && PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_AttributeError);
}

// The __getattr__ of an object's class, asked after all else has raised AttributeError. Without one, that error stays.
Ref ask_getattr(Tracer& tracer, PyObject* object, PyObject* name) {
  ErrorSetAside error;
  Ref fallback = lookup_in_class(tracer, Py_TYPE(object), "__getattr__"_name);
  if (!fallback && !PyErr_Occurred()) return nullptr;
  error.drop();
  return fallback ? call_own_method(tracer, fallback, object, "__getattr__"_name, {Ref::borrow(name)}) : Ref();
}

// Finds an attribute as ModuleType.__getattribute__ does.
Ref find_in_module(Tracer& tracer, PyObject* module, PyObject* name) {
  Ref native = lookup_in_class(tracer, Py_TYPE(module), name);
  if (!native && PyErr_Occurred()) return nullptr;
  const bool is_annotations = name == "__annotations__"_name || name == "__annotate__"_name;
  const bool is_own = !native || !is_data_descriptor(native.get()) || is_annotations;
  const AttributeWrite* write = is_own ? tracer.effects.pending(PyModule_GetDict(module), name) : nullptr;
  Ref value = write ? write->value : is_own ? load_from_instance(tracer, module, name) : Ref();
  if (!value && !PyErr_Occurred() && native && is_annotations && tracer.world.source_of(module))
    return tracer.abort(BreakReason::OutsideAttributeWrite, "a module's annotations are made by looking at them");
  if (!value && !PyErr_Occurred() && native) value = bind_descriptor(tracer, native.get(), module, name);
  if (value || (PyErr_Occurred() && !attribute_is_missing(tracer))) return value;
  clear_error();
  if (Ref fallback = load_from_instance(tracer, module, "__getattr__"_name))
    return call(tracer, fallback.get(), {Ref::borrow(name)});
  if (PyErr_Occurred()) return nullptr;
  const Ref module_name = load_from_instance(tracer, module, "__name__"_name);
  if (PyErr_Occurred()) return nullptr;
  if (module_name && PyUnicode_Check(module_name.get()))
    PyErr_Format(PyExc_AttributeError, "module '%U' has no attribute '%U'", module_name.get(), name);
  else
    PyErr_Format(PyExc_AttributeError, "module has no attribute '%U'", name);
  return nullptr;
}

Ref load_from_python_module(Tracer& tracer, PyObject* module, PyObject* name) {
  // A module may get another class, one that looks for names in its own way.
  if (Source* source = tracer.world.source_of(module)) tracer.guards.add(source, GuardKind::ExactType, tracer.origin());
  if (!is_mutable_class(Py_TYPE(module))) return find_in_module(tracer, module, name);
  guard_special_methods(tracer, module);
  const Ref own_lookup = own_method(tracer, module, "__getattribute__"_name);
  if (!own_lookup && PyErr_Occurred()) return nullptr;
  Ref value = own_lookup ? call_own_method(tracer, own_lookup, module, "__getattribute__"_name, {Ref::borrow(name)})
                         : find_in_module(tracer, module, name);
  return value || !attribute_is_missing(tracer) ? value : ask_getattr(tracer, module, name);
}

// The generic algorithm; null Ref without a Python error: no such attribute.
Ref find_generically(Tracer& tracer, PyObject* object, PyObject* name) {
  Ref attribute = lookup_in_class(tracer, Py_TYPE(object), name);
  if (!attribute && PyErr_Occurred()) return nullptr;
  if (attribute && Py_TYPE(attribute.get())->tp_descr_get && is_data_descriptor(attribute.get()))
    return bind_descriptor(tracer, attribute.get(), object, name);
  Ref own = load_from_instance(tracer, object, name);
  if (own || PyErr_Occurred()) return own;
  return attribute ? bind_descriptor(tracer, attribute.get(), object, name) : Ref();
}

// super(): the attribute of the first class after `type` in the object's MRO that has it.
Ref load_from_super(Tracer& tracer, PyObject* super, PyObject* name) {
  Ref object = native_attribute(super, "__self__"), after = native_attribute(super, "__thisclass__"),
      start = native_attribute(super, "__self_class__");
  if (!object || !after || !start) return nullptr;
  PyObject* mro = PyType_Check(start.get()) ? as_type(start.get())->tp_mro : nullptr;
  if (mro && name != "__class__"_name) {
    guard_bases(tracer, as_type(start.get()));
    bool past = false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(mro); ++i) {
      PyObject* base = PyTuple_GET_ITEM(mro, i);
      if (past) {
        if (class_has_itself(tracer, as_type(base), name)) {
          Ref attribute = lookup_in_class(tracer, as_type(base), name);
          if (!attribute) return nullptr;
          guard_special_methods(tracer, attribute.get());
          if (!Py_TYPE(attribute.get())->tp_descr_get) return attribute;
          if (object == start && PyType_Check(object.get()))
            return bind_without_instance(tracer, attribute, as_type(start.get()), name);
          return bind_descriptor(tracer, attribute.get(), object.get(), name);
        }
        guard_has_not_itself(tracer, as_type(base), name);
      }
      if (base == after.get()) past = true;
    }
  }
  Ref native = Ref::steal(PyObject_GenericGetAttr(super, name));
  return native;
}

}  // namespace

namespace {

// True if an attribute says where in memory the elements of NumPy's arrays and scalars lie: what a trace makes is made
// again behind it, and lies elsewhere.
bool shows_address(PyTypeObject* type, PyObject* name) {
  static PyObject* const names[] = {"__array_interface__"_name, "__array_struct__"_name, "ctypes"_name};
  return std::ranges::find(names, name) != std::end(names) && class_attribute(type, names[0]);
}

Ref find_attribute(Tracer& tracer, PyObject* object, PyObject* name) {
  PyTypeObject* type = Py_TYPE(object);
  const ProxyKind kind = proxy_kind(object);
  switch (kind) {
    case ProxyKind::Tensor:
      return load_tensor_attribute(tracer, object, name);
    case ProxyKind::Array:
      return array_attribute(tracer, object, name);
    case ProxyKind::Int:
    case ProxyKind::FloatOfSizes:
    case ProxyKind::Bool:
    case ProxyKind::Float:
    case ProxyKind::RuntimeNumber:
    case ProxyKind::RuntimeText:
    case ProxyKind::None:
      break;
  }
  if (tracer.world.is_opaque(object)) return use_opaque(tracer, object), nullptr;
  if (PyFrame_Check(object) && !tracer.world.source_of(object)) return load_from_frame_object(tracer, object, name);
  if (PyTypeObject* shown = type_stood_for(object, kind)) {
    if (name == "__class__"_name) return Ref::borrow(as_object(shown));
    if (!can_show_attribute(tracer, object, name)) return nullptr;
  }
  if (PyType_Check(object)) {
    if (!is_mutable_class(type)) return load_from_type(tracer, as_type(object), name);
    // A metaclass may define the lookup, or come to define it; and a class may get another metaclass.
    guard_special_methods(tracer, object);
    if (Source* source = tracer.world.source_of(object))
      tracer.guards.add(source, GuardKind::ExactType, tracer.origin());
    const Ref own_lookup = own_method(tracer, object, "__getattribute__"_name);
    if (!own_lookup && PyErr_Occurred()) return nullptr;
    Ref value = own_lookup ? call_own_method(tracer, own_lookup, object, "__getattribute__"_name, {Ref::borrow(name)})
                           : load_from_type(tracer, as_type(object), name);
    return value || !attribute_is_missing(tracer) ? value : ask_getattr(tracer, object, name);
  }
  if (PyModule_Check(object)) return load_from_python_module(tracer, object, name);
  if (type == &PySuper_Type) return load_from_super(tracer, object, name);
  if (PyFunction_Check(object) && tracer.world.source_of(object)) {
    Ref own = load_from_instance(tracer, object, name);
    if (own || PyErr_Occurred()) return own;
    return load_function_part(tracer, object, PyUnicode_AsUTF8(name));
  }
  if (type == &PyMethod_Type) {
    Ref native = lookup_in_class(tracer, type, name);
    if (!native) return load_attribute(tracer, PyMethod_GET_FUNCTION(object), name);
    return Ref::steal(PyObject_GenericGetAttr(object, name));
  }
  if (type == known_types()->thread_local_storage && tracer.world.source_of(object))
    return load_from_thread_local(tracer, object, name);
  if (!is_plain_builtin_type(type) &&
      has_native_access(type, "__getattribute__"_name, reinterpret_cast<const void*>(PyObject_GenericGetAttr))) {
    if (tracer.world.source_of(object))
      return tracer.abort(BreakReason::OpaqueObject,
                          std::string("attributes of a ") + type->tp_name + " come from native code");
    return adopt_result(tracer, Ref::steal(PyObject_GetAttr(object, name)));  // made by the trace: CPython's own lookup
  }
  if (is_generic_alias_or_union(type)) return load_from_alias_or_union(tracer, object, name);
  if (!is_generic_getattr(type)) {
    if (tracer.world.source_of(object) && !is_plain_builtin_type(type))
      return tracer.abort(BreakReason::OpaqueObject,
                          std::string("attributes of a ") + type->tp_name + " come from native code");
    Ref value = look_up_natively(tracer, object, name);
    return tracer.is_over() ? Ref() : value;
  }
  if (is_static_class(type) && !tracer.world.source_of(object)) {
    if (shows_address(type, name))
      return tracer.abort(BreakReason::StorageAccess, "the address of an array's elements is used");
    Ref value = look_up_natively(tracer, object, name);
    if (value && value.is(instance_dict(object))) tracer.made.instance_dicts.emplace(value.get(), Ref::borrow(object));
    return tracer.is_over() ? Ref() : checked_context(tracer, object, name, std::move(value));
  }

  guard_special_methods(tracer, object);  // __getattribute__ and __getattr__ may come later
  const bool may_be_overridden = type->tp_getattro != PyObject_GenericGetAttr;
  const Ref override = may_be_overridden ? own_method(tracer, object, "__getattribute__"_name) : Ref();
  if (!override && PyErr_Occurred()) return nullptr;
  const bool is_like_module =
      may_be_overridden && class_attribute(type, "__getattr__"_name) == known_types()->module_getattr;
  Ref value = override ? call_own_method(tracer, override, object, "__getattribute__"_name, {Ref::borrow(name)})
                       : find_generically(tracer, object, name);
  if (value || tracer.is_over()) return value;
  if (!PyErr_Occurred()) attribute_error(object, name);
  if (!may_be_overridden || !attribute_is_missing(tracer)) return nullptr;
  if (is_like_module) {
    clear_error();
    (void)lookup_in_class(tracer, type, "__getattr__"_name);
    bool found = false;
    value = load_from_module_tables(tracer, object, name, found);
    if (found || PyErr_Occurred()) return value;
    attribute_error(object, name);
  }
  return ask_getattr(tracer, object, name);
}

}  // namespace

bool has_native_access(PyTypeObject* type, PyObject* method_name, const void* generic) noexcept {
  PyObject* method = class_attribute(type, method_name);
  return method && Py_IS_TYPE(method, &PyWrapperDescr_Type) &&
         reinterpret_cast<PyWrapperDescrObject*>(method)->d_wrapped != generic;
}

Ref load_attribute(Tracer& tracer, PyObject* object, PyObject* name) {
  Ref value = find_attribute(tracer, object, name);
  if (!value && !tracer.is_over()) add_attribute_context(object, name);
  return value;
}

Ref load_attribute_generically(Tracer& tracer, PyObject* object, PyObject* name) {
  Ref value = find_generically(tracer, object, name);
  return value || PyErr_Occurred() ? value : attribute_error(object, name);
}

bool load_method(Tracer& tracer, PyObject* object, PyObject* name, Ref& callable, Ref& self) {
  PyTypeObject* type = Py_TYPE(object);
  if (name == "get"_name && is_namespace(tracer, object)) {
    callable = Ref::borrow(class_attribute(&PyDict_Type, name));
    self = Ref::borrow(object);
    return true;
  }
  if (is_fake_array(object))
    if (PyObject* method = class_attribute(Py_TYPE(twin_of_array(object)), name);
        method && Py_IS_TYPE(method, &PyMethodDescr_Type)) {
      callable = Ref::borrow(method);
      self = Ref::borrow(object);
      return true;
    }
  if (tracer.world.is_opaque(object) && !is_fake_array(object)) return use_opaque(tracer, object);
  // The common case without making a bound method: a function in the class, nothing of that name in the instance.
  bool is_module = PyType_IsSubtype(type, known_types()->module);
  if (is_module) {
    const Ref override = own_method(tracer, object, "__getattribute__"_name);
    if (!override && PyErr_Occurred()) return false;
    is_module = !override;
  }
  guard_special_methods(tracer, object);
  const bool is_tensor_by_class = is_fake(object) && !has_own_getattribute(tracer, object);
  if (tracer.is_over()) return false;
  if (is_tensor_by_class ||
      (is_generic_getattr(type) && !PyType_Check(object) && !PyModule_Check(object) &&
       type->tp_getattro == PyObject_GenericGetAttr) ||
      is_module) {
    Ref attribute = lookup_in_class(tracer, type, name);
    if (!attribute && PyErr_Occurred()) return false;
    if (attribute && (PyFunction_Check(attribute.get()) || Py_IS_TYPE(attribute.get(), &PyMethodDescr_Type))) {
      Ref own =
          is_fake(object) ? load_hiding_attribute(tracer, object, name) : load_from_instance(tracer, object, name);
      if (!own && PyErr_Occurred()) return false;
      if (own) {
        callable = std::move(own);
        return true;
      }
      callable = std::move(attribute);
      self = Ref::borrow(object);
      return true;
    }
  }
  callable = load_attribute(tracer, object, name);
  if (!callable) return false;
  if (Py_IS_TYPE(callable.get(), &PyMethod_Type)) {
    self = Ref::borrow(PyMethod_GET_SELF(callable.get()));
    callable = Ref::borrow(PyMethod_GET_FUNCTION(callable.get()));
  }
  return true;
}

}  // namespace minidynamo
