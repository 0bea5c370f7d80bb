// Attribute access. On objects that the trace made, the instance part is CPython's own; the class part is always looked
// up here, so that what was found in a class is guarded.
#include "model/attribute.h"

#include <structmember.h>

#include <unordered_set>

#include "library/rules.h"
#include "model/call.h"
#include "model/generic_alias.h"
#include "model/mapping_proxy.h"
#include "model/operator.h"
#include "model/reported_type.h"
#include "model/tensor_call.h"
#include "python/cached.h"
#include "python/dict_version.h"
#include "python/error_text.h"
#include "python/native_contents.h"
#include "python/out_of_memory.h"
#include "python/type_version.h"
#include "world/known_types.h"

namespace minidynamo {
namespace {

Ref attribute_error(PyObject* object, PyObject* name) {
  PyErr_Format(PyExc_AttributeError, "'%.100s' object has no attribute '%U'", Py_TYPE(object)->tp_name, name);
  add_attribute_context(object, name);
  return nullptr;
}

// A child source of an outside object, entered; `raw` is what is there.
Ref enter_child(Tracer& tracer, PyObject* owner, Access access, PyObject* key, PyObject* raw) {
  Source* source = tracer.outside.source_of(owner);
  return tracer.outside.enter(tracer, tracer.guards.child(source, access, key, -1, raw));
}

// The Python part of a descriptor (property.fget, classmethod.__func__), entered if the descriptor is outside.
Ref descriptor_part(Tracer& tracer, PyObject* descriptor, const char* attribute) {
  const Ref name = Ref::steal(interned(attribute));
  Ref raw = native_attribute(descriptor, name.get());
  if (!raw || !tracer.outside.source_of(descriptor)) return raw;
  return enter_child(tracer, descriptor, Access::Attribute, name.get(), raw.get());
}

const PyMemberDef& member_of(PyObject* descriptor) noexcept {
  return *reinterpret_cast<PyMemberDescrObject*>(descriptor)->d_member;
}
bool is_read_only(PyObject* member_descriptor) noexcept { return member_of(member_descriptor).flags & READONLY; }
// What __slots__ makes, as opposed to fields of C structs, which take only values of their kind.
bool is_slot(PyObject* member_descriptor) noexcept { return member_of(member_descriptor).type == T_OBJECT_EX; }

bool is_getter(PyTypeObject* kind) noexcept { return kind == &PyGetSetDescr_Type || kind == &PyMemberDescr_Type; }

bool is_data_descriptor(PyObject* object) noexcept { return Py_TYPE(object)->tp_descr_set != nullptr; }

// The __dict__ of an outside object, as a stand-in through which its attributes are then read and written.
Ref load_own_dict(Tracer& tracer, PyObject* object) {
  Source* owner = tracer.outside.source_of(object);
  Ref dict = Ref::steal(PyObject_GenericGetDict(owner->value.get(), nullptr));
  if (!dict) return nullptr;
  Source* source = tracer.guards.child(owner, Access::InstanceDict, nullptr, -1, dict.get());
  if (!source->value.is(dict.get())) {
    if (!source->inline_attributes)
      return tracer.give_up(BreakReason::InstanceDict,
                            "__dict__ of an object whose attributes were read before it had one");
    source->value = dict;  // it has one now, with the attributes that were read
    source->inline_attributes = false;
  }
  Ref entered = tracer.outside.enter(tracer, source);
  if (!entered) return nullptr;
  // Attributes that the trace has written are in the dict from now on.
  const auto apply = [&](const std::vector<AttributeWrite>& writes) {
    for (const AttributeWrite& write : writes) {
      PyObject* descriptor = class_attribute(Py_TYPE(object), write.name.get());
      if (descriptor && Py_IS_TYPE(descriptor, &PyMemberDescr_Type)) {  // a slot
        tracer.effects.write(object, write.name.get(), write.value.get());
        continue;
      }
      if (write.value && !tracer.outside.fill_if_stand_in(tracer, write.value.get())) return false;
      const int status = write.value ? PyDict_SetItem(entered.get(), write.name.get(), write.value.get())
                                     : PyDict_DelItem(entered.get(), write.name.get());
      if (status < 0) return false;
    }
    return true;
  };
  const EffectLog::TakenWrites written = tracer.effects.take_writes(object);
  if (written.logged.empty() && written.removed.empty()) return entered;
  if (!tracer.outside.fill_if_stand_in(tracer, entered.get()) || !apply(written.logged)) return nullptr;
  if (StandIn* stand_in = tracer.outside.stand_in(entered.get()); stand_in && !written.logged.empty())
    accept_changes(*stand_in);
  return apply(written.removed) ? entered : Ref();
}

// The filled stand-in of an outside object's __dict__, if the program uses the dict as such.
StandIn* own_dict_in_use(Tracer& tracer, PyObject* object) {
  PyObject* dict = instance_dict(object);
  PyObject* replacement = dict ? tracer.outside.replacement_of(dict) : nullptr;
  StandIn* stand_in = replacement ? tracer.outside.stand_in(replacement) : nullptr;
  return stand_in && stand_in->filled ? stand_in : nullptr;
}

// C types whose getters and members tell only what guards can ask again: they run no Python code, change nothing, and
// give the same object while nothing has changed. Any other C type is not known.
bool has_known_attributes(PyTypeObject* type) {
  static constinit Cached<std::unordered_set<PyTypeObject*>> cache;
  const std::unordered_set<PyTypeObject*>& known = *cache.get([] {
    auto found = std::make_unique<std::unordered_set<PyTypeObject*>>(std::initializer_list<PyTypeObject*>{
        &PyFunction_Type, &PyMethod_Type, &PyCFunction_Type, &PyType_Type, &PyModule_Type, &PyCode_Type, &PySuper_Type,
        &PyGen_Type, &PyMethodDescr_Type, &PyWrapperDescr_Type, &PyGetSetDescr_Type, &PyMemberDescr_Type,
        &PyClassMethodDescr_Type, &_PyMethodWrapper_Type, &_PyWeakref_RefType, &PyContextVar_Type, &PyBaseObject_Type});
    for (const char* path :
         {"datetime.date", "datetime.time", "datetime.datetime", "datetime.timedelta", "datetime.timezone",
          "functools._lru_cache_wrapper", "torch.Generator", "numpy.dtype", "numpy.generic"})
      if (Ref type = import_loaded(path)) found->insert(reinterpret_cast<PyTypeObject*>(type.release()));
    return found;
  });
  // C types of tuples (sys.version_info) are made once, of values that stay.
  return is_python_class(type) || is_plain_builtin_type(type) || PyType_IsSubtype(type, &PyTuple_Type) ||
         known.count(type) > 0;
}

// C types of descriptors that only make a bound method of the object, or take an item of a tuple.
bool binds_only(PyTypeObject* kind) {
  static constinit ImportedType tuple_getter{"_collections._tuplegetter"};
  static constinit ImportedType cached{"functools._lru_cache_wrapper"};
  return kind == &PyMethodDescr_Type || kind == &PyWrapperDescr_Type || kind == &PyClassMethodDescr_Type ||
         kind == &PyInstanceMethod_Type || kind == &PySuper_Type || kind == &PyMethod_Type || kind == tuple_getter ||
         kind == cached;
}

// Reads a C-implemented attribute (slot or getset) of an object.
Ref load_native_attribute(Tracer& tracer, PyObject* object, PyObject* name, PyObject* descriptor) {
  Source* source = tracer.outside.source_of(object);
  const bool is_class = PyType_Check(object) && is_mutable_class(reinterpret_cast<PyTypeObject*>(object));
  if (!source && is_class && !tracer.classes.has(object) && has_known_attributes(PyDescr_TYPE(descriptor)))
    source = tracer.outside.source_or_pin(tracer, object);  // a class found by one of its objects
  if (const AttributeWrite* write = source ? tracer.effects.pending(object, name) : nullptr)
    return write->value ? write->value : attribute_error(object, name);
  if (source && !has_known_attributes(PyDescr_TYPE(descriptor)))
    return tracer.give_up(BreakReason::OpaqueObject, std::string("attribute '") + PyUnicode_AsUTF8(name) + "' of a " +
                                                         Py_TYPE(object)->tp_name + " is kept by native code");
  PyObject* owner = source ? source->value.get() : object;  // what it stands for has the attributes
  Ref raw =
      Ref::steal(Py_TYPE(descriptor)->tp_descr_get(descriptor, owner, reinterpret_cast<PyObject*>(Py_TYPE(object))));
  if (tracer.broken() || !source) return raw;
  if (!raw) {  // an empty slot
    tracer.guards.add_missing(source, Access::Attribute, name, -1, tracer.origin());
    return nullptr;
  }
  return enter_child(tracer, object, Access::Attribute, name, raw.get());
}

Ref invoke_descriptor(Tracer& tracer, PyObject* descriptor, PyObject* object, PyObject* name);

bool is_class_method(PyTypeObject* type) noexcept { return type->tp_descr_get == PyClassMethod_Type.tp_descr_get; }
bool is_static_method(PyTypeObject* type) noexcept { return type->tp_descr_get == PyStaticMethod_Type.tp_descr_get; }

// What the __get__ gives that a descriptor's class has as a Python function; null Ref without a Python error: it has
// none.
Ref call_python_get(Tracer& tracer, PyObject* descriptor, PyObject* object, PyObject* owner) {
  static PyObject* const get_name = interned("__get__");
  PyTypeObject* kind = Py_TYPE(descriptor);
  if (!PyType_HasFeature(kind, Py_TPFLAGS_HEAPTYPE)) return nullptr;
  Ref get = lookup_in_class(tracer, kind, get_name);
  if (!get || !PyFunction_Check(get.get())) return nullptr;
  return call(tracer, get.get(), {Ref::borrow(descriptor), Ref::borrow(object), Ref::borrow(owner)});
}

// What a classmethod gives that wraps another descriptor.
Ref bind_to_class(Tracer& tracer, PyObject* descriptor, PyObject* owner) {
  static PyObject* const get_name = interned("__get__");
  Ref got = call_python_get(tracer, descriptor, owner, owner);
  return got || PyErr_Occurred() ? got : invoke_descriptor(tracer, descriptor, owner, get_name);
}

// What a descriptor found in a class gives for an instance.
Ref invoke_descriptor(Tracer& tracer, PyObject* descriptor, PyObject* object, PyObject* name) {
  PyTypeObject* kind = Py_TYPE(descriptor);
  guard_special_methods(tracer, descriptor);  // its class may have no __get__ yet
  if (PyFunction_Check(descriptor)) return Ref::made(PyMethod_New(descriptor, object));
  if (kind == &PyProperty_Type || PyType_IsSubtype(kind, &PyProperty_Type)) {
    Ref getter = descriptor_part(tracer, descriptor, "fget");
    if (!getter) return nullptr;
    if (getter.is(Py_None))  // which only raises then
      return Ref::steal(kind->tp_descr_get(descriptor, object, reinterpret_cast<PyObject*>(Py_TYPE(object))));
    return call(tracer, getter.get(), {Ref::borrow(object)});
  }
  if (is_static_method(kind)) return descriptor_part(tracer, descriptor, "__func__");
  if (is_class_method(kind)) {
    Ref function = descriptor_part(tracer, descriptor, "__func__");
    if (!function) return nullptr;
    PyObject* owner = PyType_Check(object) ? object : reinterpret_cast<PyObject*>(Py_TYPE(object));
    return Py_TYPE(function.get())->tp_descr_get && !PyFunction_Check(function.get())
               ? bind_to_class(tracer, function.get(), owner)
               : Ref::made(PyMethod_New(function.get(), owner));
  }
  if (kind == &PyMemberDescr_Type || kind == &PyGetSetDescr_Type) {
    static PyObject* const dict_name = interned("__dict__");
    static PyObject* const class_name = interned("__class__");
    if (name == class_name) return Ref::borrow(reinterpret_cast<PyObject*>(Py_TYPE(object)));
    const bool is_class = PyType_Check(object);  // whose __dict__ is a read-only view
    static PyObject* const annotations_name = interned("__annotations__");
    if (name == annotations_name && is_class) {
      Ref made = make_class_annotations(tracer, reinterpret_cast<PyTypeObject*>(object));
      if (made || PyErr_Occurred()) return made;
    }
    if (name == dict_name && is_class) return load_class_dict(tracer, reinterpret_cast<PyTypeObject*>(object));
    if (name == dict_name && tracer.outside.source_of(object)) return load_own_dict(tracer, object);
    if (name == dict_name) {
      Ref dict = Ref::steal(PyObject_GenericGetDict(object, nullptr));
      if (dict) tracer.own_dicts.emplace(dict.get(), Ref::borrow(object));
      return dict;
    }
    return load_native_attribute(tracer, object, name, descriptor);
  }
  if (!kind->tp_descr_get) return Ref::borrow(descriptor);
  PyObject* owner = reinterpret_cast<PyObject*>(Py_TYPE(object));
  if (Ref got = call_python_get(tracer, descriptor, object, owner); got || PyErr_Occurred()) return got;
  // What a descriptor of unknown C code gives (a field of a ctypes structure) may be another value at the next call.
  if (!binds_only(kind) && (tracer.outside.source_of(object) || PyType_Check(object)))
    return tracer.give_up(BreakReason::OpaqueObject, std::string("an attribute of a ") + Py_TYPE(object)->tp_name +
                                                         " is kept by native code (" + kind->tp_name + ")");
  // A bound C method works on the container itself, whenever it is called.
  if (!tracer.outside.fill_if_stand_in(tracer, object)) return nullptr;
  Ref bound = Ref::steal(kind->tp_descr_get(descriptor, object, owner));
  return tracer.broken() ? Ref() : bound;
}

// Whether a type's attribute access is the generic one, possibly with a Python __getattr__ or __getattribute__.
bool is_generic_getattr(PyTypeObject* type) noexcept {
  return type->tp_getattro == PyObject_GenericGetAttr || PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE);
}

// Whether C code of the type's own stands behind __getattribute__ or __setattr__ (threading.local, proxies): what it
// reads or writes has no source.
bool has_native_access(PyTypeObject* type, PyObject* method_name, const void* generic) noexcept {
  PyObject* method = class_attribute(type, method_name);
  return method && Py_IS_TYPE(method, &PyWrapperDescr_Type) &&
         reinterpret_cast<PyWrapperDescrObject*>(method)->d_wrapped != generic;
}

// What this thread has in a threading.local.
Ref load_from_thread_local(Tracer& tracer, PyObject* object, PyObject* name) {
  Source* source = tracer.outside.source_of(object);
  Ref raw = Ref::steal(PyObject_GetAttr(object, name));
  if (raw) return tracer.outside.enter(tracer, tracer.guards.child(source, Access::Attribute, name, -1, raw.get()));
  if (PyErr_ExceptionMatches(PyExc_AttributeError)) {
    PyObject *error, *value, *traceback;
    PyErr_Fetch(&error, &value, &traceback);
    tracer.guards.add_missing(source, Access::Attribute, name, -1, tracer.origin());
    PyErr_Restore(error, value, traceback);
  }
  return nullptr;
}

// nn.Module.__getattr__ in one step: _parameters, _buffers, _modules of the instance, in that order.
Ref load_from_module_tables(Tracer& tracer, PyObject* object, PyObject* name, bool& found) {
  static PyObject* const tables[] = {interned("_parameters"), interned("_buffers"), interned("_modules")};
  found = false;
  for (PyObject* table_name : tables) {
    Ref table = load_from_instance(tracer, object, table_name);
    if (!table) {
      if (PyErr_Occurred()) return nullptr;
      continue;
    }
    StandIn* stand_in = tracer.outside.stand_in(table.get());
    if (stand_in && !stand_in->filled) {
      Ref value = tracer.outside.dict_item(tracer, *stand_in, name, found);
      if (found || PyErr_Occurred()) return value;
    } else if (PyDict_Check(table.get())) {
      PyObject* value = PyDict_GetItemWithError(table.get(), name);
      found = value != nullptr;
      if (found || PyErr_Occurred()) return Ref::borrow(value);
    }
  }
  return nullptr;
}

// What an attribute found in a class gives when the class is asked for it, not an instance.
Ref bind_without_instance(Tracer& tracer, const Ref& attribute, PyTypeObject* type, PyObject* name) {
  PyTypeObject* kind = Py_TYPE(attribute.get());
  guard_special_methods(tracer, attribute.get());  // its class may have no __get__ yet
  if (PyFunction_Check(attribute.get()) || !kind->tp_descr_get) return attribute;
  if (is_static_method(kind) || is_class_method(kind))
    return invoke_descriptor(tracer, attribute.get(), reinterpret_cast<PyObject*>(type), name);
  if (kind == &PyProperty_Type) return attribute;
  PyObject* owner = reinterpret_cast<PyObject*>(type);
  if (Ref got = call_python_get(tracer, attribute.get(), Py_None, owner); got || PyErr_Occurred()) return got;
  if (!binds_only(kind) && !is_getter(kind) && kind->tp_descr_get != PyProperty_Type.tp_descr_get)
    return tracer.give_up(BreakReason::OpaqueObject, std::string("an attribute of class ") + type->tp_name +
                                                         " is kept by native code (" + kind->tp_name + ")");
  Ref bound = Ref::steal(kind->tp_descr_get(attribute.get(), nullptr, owner));
  return tracer.broken() ? Ref() : bound;
}

Ref load_from_type(Tracer& tracer, PyTypeObject* type, PyObject* name) {
  PyTypeObject* meta = Py_TYPE(type);
  Ref meta_attribute = lookup_in_class(tracer, meta, name);
  if (!meta_attribute && PyErr_Occurred()) return nullptr;
  if (meta_attribute && Py_TYPE(meta_attribute.get())->tp_descr_get && is_data_descriptor(meta_attribute.get()))
    return invoke_descriptor(tracer, meta_attribute.get(), reinterpret_cast<PyObject*>(type), name);
  Ref attribute = lookup_in_class(tracer, type, name);
  if (!attribute && PyErr_Occurred()) return nullptr;
  if (attribute) return bind_without_instance(tracer, attribute, type, name);
  if (meta_attribute) return invoke_descriptor(tracer, meta_attribute.get(), reinterpret_cast<PyObject*>(type), name);
  PyErr_Format(PyExc_AttributeError, "type object '%.50s' has no attribute '%U'", type->tp_name, name);
  return nullptr;
}

// Whether an AttributeError is set, which a __getattr__ may answer in place of.
bool attribute_is_missing(Tracer& tracer) {
  return !tracer.broken() && PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_AttributeError);
}

// The __getattr__ of an object's class, asked after all else has raised AttributeError. Without one, that error stays.
Ref ask_getattr(Tracer& tracer, PyObject* object, PyObject* name) {
  static PyObject* const getattr_name = interned("__getattr__");
  PyObject *error, *value, *traceback;
  PyErr_Fetch(&error, &value, &traceback);
  Ref fallback = lookup_in_class(tracer, Py_TYPE(object), getattr_name);
  if (!fallback && !PyErr_Occurred()) {
    PyErr_Restore(error, value, traceback);
    return nullptr;
  }
  Ref::steal(error), Ref::steal(value), Ref::steal(traceback);
  if (!fallback) return nullptr;
  if (PyFunction_Check(fallback.get())) return call(tracer, fallback.get(), {Ref::borrow(object), Ref::borrow(name)});
  Ref bound = Py_TYPE(fallback.get())->tp_descr_get ? invoke_descriptor(tracer, fallback.get(), object, getattr_name)
                                                    : fallback;
  return bound ? call(tracer, bound.get(), {Ref::borrow(name)}) : Ref();
}

// What ModuleType.__getattribute__ does.
Ref find_in_module(Tracer& tracer, PyObject* module, PyObject* name) {
  Ref native = lookup_in_class(tracer, Py_TYPE(module), name);
  if (!native && PyErr_Occurred()) return nullptr;
  Ref value;
  if (native && is_data_descriptor(native.get())) {
    value = invoke_descriptor(tracer, native.get(), module, name);
  } else {
    const AttributeWrite* write = tracer.effects.pending(PyModule_GetDict(module), name);
    if (write && write->value) return write->value;
    value = load_from_instance(tracer, module, name);
    if (!value && !PyErr_Occurred() && native) value = invoke_descriptor(tracer, native.get(), module, name);
  }
  if (value || (PyErr_Occurred() && !attribute_is_missing(tracer))) return value;
  static PyObject* const getattr_name = interned("__getattr__");
  clear_error();
  if (Ref fallback = load_from_instance(tracer, module, getattr_name))
    return call(tracer, fallback.get(), {Ref::borrow(name)});
  if (PyErr_Occurred()) return nullptr;
  const char* module_name = PyModule_GetName(module);
  clear_error();
  PyErr_Format(PyExc_AttributeError, "module '%s' has no attribute '%U'", module_name ? module_name : "?", name);
  return nullptr;
}

Ref load_from_python_module(Tracer& tracer, PyObject* module, PyObject* name) {
  // A module may get another class, one that looks for names in its own way.
  if (Source* source = tracer.outside.source_of(module))
    tracer.guards.add(source, GuardKind::ExactType, tracer.origin());
  if (!is_mutable_class(Py_TYPE(module))) return find_in_module(tracer, module, name);
  static PyObject* const getattribute_name = interned("__getattribute__");
  guard_special_methods(tracer, module);
  Ref own_lookup = lookup_in_class(tracer, Py_TYPE(module), getattribute_name);
  if (!own_lookup && PyErr_Occurred()) return nullptr;
  Ref value = own_lookup && PyFunction_Check(own_lookup.get())
                  ? call(tracer, own_lookup.get(), {Ref::borrow(module), Ref::borrow(name)})
                  : find_in_module(tracer, module, name);
  return value || !attribute_is_missing(tracer) ? value : ask_getattr(tracer, module, name);
}

// The generic algorithm; null Ref without a Python error: no such attribute.
Ref find_generically(Tracer& tracer, PyObject* object, PyObject* name) {
  Ref attribute = lookup_in_class(tracer, Py_TYPE(object), name);
  if (!attribute && PyErr_Occurred()) return nullptr;
  if (attribute && Py_TYPE(attribute.get())->tp_descr_get && is_data_descriptor(attribute.get()))
    return invoke_descriptor(tracer, attribute.get(), object, name);
  Ref own = load_from_instance(tracer, object, name);
  if (own || PyErr_Occurred()) return own;
  return attribute ? invoke_descriptor(tracer, attribute.get(), object, name) : Ref();
}

// Whether a class's own namespace has the name, by now.
bool has_itself(Tracer& tracer, PyTypeObject* type, PyObject* name) {
  if (tracer.effects.writes_classes())
    if (const AttributeWrite* write = tracer.effects.pending(reinterpret_cast<PyObject*>(type), name))
      return static_cast<bool>(write->value);
  return PyDict_GetItemWithError(type->tp_dict, name) != nullptr;
}

void guard_has_not_itself(Tracer& tracer, PyTypeObject* type, PyObject* name) {
  auto* object = reinterpret_cast<PyObject*>(type);
  if (!is_mutable_class(type) || tracer.classes.has(object)) return;
  Source* own = tracer.guards.child(tracer.outside.source_or_pin(tracer, object), Access::InstanceDict, nullptr, -1,
                                    type->tp_dict);
  tracer.guards.add_missing(own, Access::DictItem, name, -1, tracer.origin());
}

// super(): the attribute of the first class after `type` in the object's MRO that has it.
Ref load_from_super(Tracer& tracer, PyObject* super, PyObject* name) {
  static PyObject* const class_name = interned("__class__");
  Ref object = native_attribute(super, "__self__"), after = native_attribute(super, "__thisclass__"),
      start = native_attribute(super, "__self_class__");
  if (!object || !after || !start) return nullptr;
  PyObject* mro = PyType_Check(start.get()) ? reinterpret_cast<PyTypeObject*>(start.get())->tp_mro : nullptr;
  if (mro && name != class_name) {
    guard_bases(tracer, reinterpret_cast<PyTypeObject*>(start.get()));
    bool past = false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(mro); ++i) {
      PyObject* base = PyTuple_GET_ITEM(mro, i);
      if (past) {
        if (has_itself(tracer, reinterpret_cast<PyTypeObject*>(base), name)) {
          Ref attribute = lookup_in_class(tracer, reinterpret_cast<PyTypeObject*>(base), name);
          if (!attribute) return nullptr;
          guard_special_methods(tracer, attribute.get());
          if (!Py_TYPE(attribute.get())->tp_descr_get) return attribute;
          if (object == start && PyType_Check(object.get()))
            return bind_without_instance(tracer, attribute, reinterpret_cast<PyTypeObject*>(start.get()), name);
          return invoke_descriptor(tracer, attribute.get(), object.get(), name);
        }
        guard_has_not_itself(tracer, reinterpret_cast<PyTypeObject*>(base), name);
      }
      if (base == after.get()) past = true;
    }
  }
  Ref native = Ref::steal(PyObject_GenericGetAttr(super, name));
  return native;
}

}  // namespace

Ref lookup_in_class(Tracer& tracer, PyTypeObject* type, PyObject* name) {
  if (tracer.classes.has(reinterpret_cast<PyObject*>(type))) return lookup_in_made_class(tracer, type, name);
  if (tracer.effects.writes_classes()) {
    PyObject* mro = type->tp_mro;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(mro); ++i) {
      PyObject* base = PyTuple_GET_ITEM(mro, i);
      if (const AttributeWrite* write = tracer.effects.pending(base, name)) {
        if (i > 0) guard_bases(tracer, type);  // the classes before it have to stay without the name
        for (Py_ssize_t before = 0; before < i; ++before)
          guard_has_not_itself(tracer, reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(mro, before)), name);
        return write->value;
      }
      if (PyDict_GetItemWithError(reinterpret_cast<PyTypeObject*>(base)->tp_dict, name)) break;
    }
  }
  PyObject* found = class_attribute(type, name);
  if (!PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE)) return Ref::borrow(found);  // immutable
  Source* source = tracer.outside.source_or_pin(tracer, reinterpret_cast<PyObject*>(type));
  if (!found) {
    tracer.guards.add_missing(source, Access::ClassAttribute, name, -1, tracer.origin());
    return nullptr;
  }
  return tracer.outside.enter(tracer, tracer.guards.child(source, Access::ClassAttribute, name, -1, found));
}

namespace {

// Calls visit(source) for the class, or, if the trace made it, for those of its bases that were there before.
template <typename Visit>
void each_mutable_class(Tracer& tracer, PyTypeObject* type, Visit visit) {
  if (!is_mutable_class(type)) return;
  auto* object = reinterpret_cast<PyObject*>(type);
  if (!tracer.classes.has(object)) return visit(tracer.outside.source_or_pin(tracer, object));
  for (Py_ssize_t i = 1; i < PyTuple_GET_SIZE(type->tp_mro); ++i) {
    PyObject* base = PyTuple_GET_ITEM(type->tp_mro, i);
    if (is_mutable_class(reinterpret_cast<PyTypeObject*>(base)) && !tracer.classes.has(base))
      visit(tracer.outside.source_or_pin(tracer, base));
  }
}

}  // namespace

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
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(classes); ++i)
      guard_class_check(tracer, object, PyTuple_GET_ITEM(classes, i));
    return;
  }
  if (is_fake(object)) return;
  guard_bases(tracer, PyType_Check(object) ? reinterpret_cast<PyTypeObject*>(object) : Py_TYPE(object));
  guard_special_methods(tracer, object);
  guard_special_methods(tracer, classes);
}

Ref load_from_instance(Tracer& tracer, PyObject* object, PyObject* name) {
  Source* source = tracer.outside.source_of(object);
  if (!source) {
    PyObject* value = instance_attribute(object, name);
    return Ref::borrow(value);
  }
  if (const AttributeWrite* write = tracer.effects.pending(object, name)) return write->value;
  if (tracer.outside.stand_in(object))
    if (PyObject* own = instance_attribute(object, name)) return Ref::borrow(own);
  PyObject* owner = source->value.get();  // of what stands for another object, that one has the attributes
  if (!has_instance_dict(Py_TYPE(owner))) return nullptr;
  if (StandIn* in_use = own_dict_in_use(tracer, owner))
    return Ref::borrow(PyDict_GetItemWithError(in_use->object.get(), name));
  PyObject* own_dict = instance_dict(owner);
  Source* dict = tracer.guards.child(source, Access::InstanceDict, nullptr, -1, own_dict ? own_dict : owner);
  PyObject* raw = instance_attribute(owner, name);
  if (raw) return tracer.outside.enter(tracer, tracer.guards.child(dict, Access::DictItem, name, -1, raw));
  tracer.guards.add_missing(dict, Access::DictItem, name, -1, tracer.origin());
  return nullptr;
}

bool guard_own_attribute(Tracer& tracer, PyObject* object, PyObject* name) {
  Source* source = tracer.outside.source_of(object);
  PyObject* descriptor = class_attribute(Py_TYPE(object), name);
  const bool is_slot = descriptor && Py_IS_TYPE(descriptor, &PyMemberDescr_Type);
  Access access = is_slot ? Access::Attribute : Access::DictItem;
  Ref there;
  if (PyDict_Check(object)) {
    there = Ref::borrow(PyDict_GetItemWithError(object, name));
  } else if (PyCell_Check(object)) {
    access = Access::CellContents;
    there = Ref::borrow(PyCell_GET(object));
  } else if (is_slot) {
    there = Ref::steal(PyObject_GenericGetAttr(object, name));
  } else {
    PyObject* own_dict = instance_dict(object);
    source = tracer.guards.child(source, Access::InstanceDict, nullptr, -1, own_dict ? own_dict : object);
    there = Ref::borrow(instance_attribute(object, name));
  }
  clear_error();
  PyObject* key = access == Access::CellContents ? nullptr : name;
  if (there)
    tracer.guards.add(tracer.guards.child(source, access, key, -1, there.get()), GuardKind::Present, tracer.origin());
  else
    tracer.guards.add_missing(source, access, key, -1, tracer.origin());
  return static_cast<bool>(there);
}

namespace {

Ref find_attribute(Tracer& tracer, PyObject* object, PyObject* name) {
  PyTypeObject* type = Py_TYPE(object);
  if (is_fake(object)) return load_tensor_attribute(tracer, object, name);
  if (tracer.outside.is_opaque(object)) return use_opaque(tracer, object), nullptr;
  if (PyTypeObject* shown = shown_type(object)) {
    static PyObject* const shown_class_name = interned("__class__");
    if (name == shown_class_name) return Ref::borrow(reinterpret_cast<PyObject*>(shown));
    if (!can_show_attribute(tracer, object, name)) return nullptr;
  }
  if (PyType_Check(object)) {
    if (!is_mutable_class(type)) return load_from_type(tracer, reinterpret_cast<PyTypeObject*>(object), name);
    // A metaclass may have a say, or get one; and a class may get another metaclass.
    static PyObject* const own_lookup_name = interned("__getattribute__");
    guard_special_methods(tracer, object);
    if (Source* source = tracer.outside.source_of(object))
      tracer.guards.add(source, GuardKind::ExactType, tracer.origin());
    Ref own_lookup = lookup_in_class(tracer, type, own_lookup_name);
    if (!own_lookup && PyErr_Occurred()) return nullptr;
    Ref value = own_lookup && PyFunction_Check(own_lookup.get())
                    ? call(tracer, own_lookup.get(), {Ref::borrow(object), Ref::borrow(name)})
                    : load_from_type(tracer, reinterpret_cast<PyTypeObject*>(object), name);
    return value || !attribute_is_missing(tracer) ? value : ask_getattr(tracer, object, name);
  }
  if (PyModule_Check(object)) return load_from_python_module(tracer, object, name);
  if (type == &PySuper_Type) return load_from_super(tracer, object, name);
  if (PyFunction_Check(object) && tracer.outside.source_of(object)) {
    Ref own = load_from_instance(tracer, object, name);
    if (own || PyErr_Occurred()) return own;
    return load_function_part(tracer, object, PyUnicode_AsUTF8(name));
  }
  if (type == &PyMethod_Type) {
    Ref native = lookup_in_class(tracer, type, name);
    if (!native) return load_attribute(tracer, PyMethod_GET_FUNCTION(object), name);
    return Ref::steal(PyObject_GenericGetAttr(object, name));
  }
  static PyObject* const getattribute_name = interned("__getattribute__");
  static PyObject* const getattr_name = interned("__getattr__");
  if (type == known_types()->thread_local_storage && tracer.outside.source_of(object))
    return load_from_thread_local(tracer, object, name);
  if (!is_plain_builtin_type(type) &&
      has_native_access(type, getattribute_name, reinterpret_cast<const void*>(PyObject_GenericGetAttr))) {
    if (tracer.outside.source_of(object))
      return tracer.give_up(BreakReason::OpaqueObject,
                            std::string("attributes of a ") + type->tp_name + " come from native code");
    return adopt_result(tracer,
                        Ref::steal(PyObject_GetAttr(object, name)));  // of the trace's own making: CPython's own lookup
  }
  if (is_generic_alias_or_union(type)) return load_from_alias_or_union(tracer, object, name);
  if (!is_generic_getattr(type)) {
    if (tracer.outside.source_of(object) && !is_plain_builtin_type(type))
      return tracer.give_up(BreakReason::OpaqueObject,
                            std::string("attributes of a ") + type->tp_name + " come from native code");
    Ref value = Ref::steal(PyObject_GetAttr(object, name));
    return tracer.broken() ? Ref() : value;
  }
  if (!PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) && !tracer.outside.source_of(object)) {
    Ref value = Ref::steal(PyObject_GetAttr(object, name));
    if (value && value.is(instance_dict(object))) tracer.own_dicts.emplace(value.get(), Ref::borrow(object));
    return tracer.broken() ? Ref() : value;
  }

  guard_special_methods(tracer, object);  // __getattribute__ and __getattr__ may come later
  const bool may_be_overridden = type->tp_getattro != PyObject_GenericGetAttr;
  Ref override = may_be_overridden ? lookup_in_class(tracer, type, getattribute_name) : Ref();
  if (!override && PyErr_Occurred()) return nullptr;
  const bool is_like_module = may_be_overridden && class_attribute(type, getattr_name) == known_types()->module_getattr;
  Ref value = override && PyFunction_Check(override.get())
                  ? call(tracer, override.get(), {Ref::borrow(object), Ref::borrow(name)})
                  : find_generically(tracer, object, name);
  if (value || tracer.broken()) return value;
  if (!PyErr_Occurred()) attribute_error(object, name);
  if (!may_be_overridden || !attribute_is_missing(tracer)) return nullptr;
  if (is_like_module) {
    clear_error();
    lookup_in_class(tracer, type, getattr_name);
    bool found = false;
    value = load_from_module_tables(tracer, object, name, found);
    if (found || PyErr_Occurred()) return value;
    attribute_error(object, name);
  }
  return ask_getattr(tracer, object, name);
}

}  // namespace

Ref load_attribute(Tracer& tracer, PyObject* object, PyObject* name) {
  Ref value = find_attribute(tracer, object, name);
  if (!value && !tracer.broken()) add_attribute_context(object, name);
  return value;
}

Ref load_attribute_generically(Tracer& tracer, PyObject* object, PyObject* name) {
  Ref value = find_generically(tracer, object, name);
  return value || PyErr_Occurred() ? value : attribute_error(object, name);
}

bool load_method(Tracer& tracer, PyObject* object, PyObject* name, Ref& callable, Ref& self) {
  PyTypeObject* type = Py_TYPE(object);
  if (tracer.outside.is_opaque(object)) return use_opaque(tracer, object);
  // The common case without making a bound method: a function in the class, nothing of that name in the instance.
  bool is_module = PyType_IsSubtype(type, known_types()->module);
  if (is_module) {
    static PyObject* const getattribute_name = interned("__getattribute__");
    Ref override = lookup_in_class(tracer, type, getattribute_name);
    if (!override && PyErr_Occurred()) return false;
    is_module = !override || !PyFunction_Check(override.get());
  }
  guard_special_methods(tracer, object);
  if (is_fake(object) ||
      (is_generic_getattr(type) && !PyType_Check(object) && !PyModule_Check(object) &&
       type->tp_getattro == PyObject_GenericGetAttr) ||
      is_module) {
    Ref attribute = lookup_in_class(tracer, type, name);
    if (!attribute && PyErr_Occurred()) return false;
    if (attribute && (PyFunction_Check(attribute.get()) || Py_IS_TYPE(attribute.get(), &PyMethodDescr_Type))) {
      Ref own = is_fake(object) ? Ref() : load_from_instance(tracer, object, name);
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

namespace {

bool is_dunder(PyObject* name) noexcept {
  const char* text = PyUnicode_AsUTF8(name);
  return !text || (text[0] == '_' && text[1] == '_');
}

// An attribute that the user puts on a function: none of those that make the function what it is.
bool is_own_name_of_function(PyObject* function, PyObject* name) noexcept {
  return !is_dunder(name) && !class_attribute(Py_TYPE(function), name);
}

// A plain value in a class's namespace: nothing that C code keeps slots for, and no metaclass that has a say.
bool can_write_class(Tracer& tracer, PyTypeObject* type, PyObject* name) {
  static PyObject* const setattr_name = interned("__setattr__");
  if (!is_python_class(type) || is_dunder(name)) return false;
  Ref setter = lookup_in_class(tracer, Py_TYPE(type), setattr_name);
  Ref descriptor = lookup_in_class(tracer, Py_TYPE(type), name);
  return setter && !PyFunction_Check(setter.get()) && !descriptor && !PyErr_Occurred();
}

}  // namespace

bool store_attribute(Tracer& tracer, PyObject* object, PyObject* name, PyObject* value) {
  PyTypeObject* type = Py_TYPE(object);
  if (is_fake(object)) return store_tensor_attribute(tracer, object, name, value);
  if (tracer.outside.is_opaque(object)) return use_opaque(tracer, object);
  if (!tracer.outside.source_of(object)) {
    if (value && !tracer.outside.fill_if_stand_in(tracer, value)) return false;
    guard_special_methods(tracer, object);
    if (tracer.broken()) return false;
    if (PyType_Check(object) && !tracer.classes.has(object))
      return tracer.give_up(BreakReason::ClassAttributeWrite, "a class attribute is set") != nullptr;
    return PyObject_SetAttr(object, name, value) == 0 && !tracer.broken();
  }
  if (PyFunction_Check(object) && value && is_own_name_of_function(object, name)) {
    tracer.effects.write(object, name, value);
    return true;
  }
  if (PyModule_Check(object)) {  // its namespace, which its functions know as their globals
    PyObject* globals = PyModule_GetDict(object);
    if (!tracer.outside.namespace_source(tracer, globals)) return false;
    if (!value) {
      Ref present = load_from_python_module(tracer, object, name);
      if (!present) return false;
    }
    tracer.effects.write(globals, name, value);
    return true;
  }
  if (PyType_Check(object) && is_class_dict_in_use(tracer, reinterpret_cast<PyTypeObject*>(object)))
    return tracer.give_up(BreakReason::ClassAttributeWrite,
                          "an attribute of a class whose __dict__ is in use is set") != nullptr;
  if (PyType_Check(object) && value && can_write_class(tracer, reinterpret_cast<PyTypeObject*>(object), name)) {
    tracer.effects.write_class(object, name, value);
    return true;
  }
  if (tracer.broken()) return false;
  if (PyType_Check(object) || PyFunction_Check(object))
    return tracer.give_up(BreakReason::OutsideAttributeWrite,
                          std::string("an attribute of a ") + type->tp_name + " is set") != nullptr;
  static PyObject* const native_setattr_name = interned("__setattr__");
  if (has_native_access(type, native_setattr_name, reinterpret_cast<const void*>(PyObject_GenericSetAttr)))
    return tracer.give_up(BreakReason::OpaqueObject,
                          std::string("an attribute of a ") + type->tp_name + " is set by native code") != nullptr;
  // __setattr__ of nn.Module and other classes that override it is Python code that ends in object.__setattr__.
  static PyObject* const setattr_name = interned("__setattr__");
  static PyObject* const delattr_name = interned("__delattr__");
  Ref override = lookup_in_class(tracer, type, value ? setattr_name : delattr_name);
  if (!override && PyErr_Occurred()) return false;
  if (override && PyFunction_Check(override.get())) {
    Ref done = value ? call(tracer, override.get(), {Ref::borrow(object), Ref::borrow(name), Ref::borrow(value)})
                     : call(tracer, override.get(), {Ref::borrow(object), Ref::borrow(name)});
    return static_cast<bool>(done);
  }
  return store_in_instance(tracer, object, name, value);
}

bool store_in_instance(Tracer& tracer, PyObject* object, PyObject* name, PyObject* value) {
  if (!tracer.outside.source_of(object)) {
    if (value && !tracer.outside.fill_if_stand_in(tracer, value)) return false;
    return PyObject_GenericSetAttr(object, name, value) == 0 && !tracer.broken();
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
    if (Py_IS_TYPE(descriptor.get(), &PyMemberDescr_Type) && is_read_only(descriptor.get())) {
      PyErr_SetString(PyExc_AttributeError, "readonly attribute");
      return false;
    }
    if (!Py_IS_TYPE(descriptor.get(), &PyMemberDescr_Type) || !is_slot(descriptor.get()))
      return tracer.give_up(BreakReason::OutsideAttributeWrite,
                            std::string("attribute '") + PyUnicode_AsUTF8(name) +
                                "' of an object from before the call is set through a descriptor") != nullptr;
  } else if (!has_instance_dict(Py_TYPE(object))) {
    if (descriptor)
      PyErr_Format(PyExc_AttributeError, "'%.100s' object attribute '%U' is read-only", Py_TYPE(object)->tp_name, name);
    else
      attribute_error(object, name);
    return false;
  }
  if (!value) {
    const bool is_slot = descriptor && Py_IS_TYPE(descriptor.get(), &PyMemberDescr_Type);
    Ref present = is_slot ? load_native_attribute(tracer, object, name, descriptor.get())
                          : load_from_instance(tracer, object, name);
    if (!present && is_slot && !tracer.broken() && PyErr_ExceptionMatches(PyExc_AttributeError))
      PyErr_SetObject(PyExc_AttributeError, name);  // all that CPython says of an empty one
    if (!present) return PyErr_Occurred() ? false : static_cast<bool>(attribute_error(object, name));
  }
  const bool goes_to_slot = descriptor && Py_IS_TYPE(descriptor.get(), &PyMemberDescr_Type);
  if (StandIn* in_use = goes_to_slot ? nullptr : own_dict_in_use(tracer, object)) {
    if (!value) return PyDict_DelItem(in_use->object.get(), name) == 0;
    return tracer.outside.fill_if_stand_in(tracer, value) && PyDict_SetItem(in_use->object.get(), name, value) == 0;
  }
  tracer.effects.write(object, name, value);
  return true;
}

Ref load_global(Tracer& tracer, Frame& frame, PyObject* name) {
  PyObject* globals = frame.globals.get();
  if (!PyDict_CheckExact(globals) || !PyDict_CheckExact(frame.builtins.get()))
    return tracer.give_up(BreakReason::UnsupportedObject, "the names of a module are no plain dict");
  Source* source = tracer.outside.namespace_source(tracer, globals);
  if (!source) return nullptr;
  if (const AttributeWrite* write = tracer.effects.pending(globals, name)) {
    if (write->value) return write->value;
  } else {
    PyObject* raw = PyDict_GetItemWithError(globals, name);
    if (raw) return tracer.outside.enter(tracer, tracer.guards.child(source, Access::DictItem, name, -1, raw));
    if (PyErr_Occurred()) return nullptr;
    tracer.guards.add_missing(source, Access::DictItem, name, -1, tracer.origin());
  }
  if (Ref found = load_builtin(tracer, frame, name); found || PyErr_Occurred()) return found;
  PyErr_Format(PyExc_NameError, "name '%U' is not defined", name);
  add_name_context(name);
  return nullptr;
}

Ref load_builtin(Tracer& tracer, Frame& frame, PyObject* name) {
  PyObject* builtins = frame.builtins.get();
  if (const AttributeWrite* write = tracer.effects.pending(builtins, name)) return write->value;
  Source* source = tracer.outside.namespace_source(tracer, builtins, "builtins");
  if (!source) return nullptr;
  PyObject* raw = PyDict_GetItemWithError(builtins, name);
  if (raw) return tracer.outside.enter(tracer, tracer.guards.child(source, Access::DictItem, name, -1, raw));
  if (!PyErr_Occurred()) tracer.guards.add_missing(source, Access::DictItem, name, -1, tracer.origin());
  return nullptr;
}

Ref load_cell(Tracer& tracer, PyObject* cell) {
  Source* source = tracer.outside.source_of(cell);
  if (!source) return Ref::borrow(PyCell_GET(cell));
  static PyObject* const contents_name = interned("cell_contents");
  if (const AttributeWrite* write = tracer.effects.pending(cell, contents_name)) return write->value;
  PyObject* contents = PyCell_GET(cell);
  if (contents)
    return tracer.outside.enter(tracer, tracer.guards.child(source, Access::CellContents, nullptr, -1, contents));
  tracer.guards.add_missing(source, Access::CellContents, nullptr, -1, tracer.origin());
  return nullptr;
}

Ref bind_descriptor(Tracer& tracer, PyObject* descriptor, PyObject* object, PyObject* name) {
  return invoke_descriptor(tracer, descriptor, object, name);
}

bool enter_functions_of_property(Tracer& tracer, PyObject* object) {
  if (!PyObject_TypeCheck(object, &PyProperty_Type) || !tracer.outside.source_of(object)) return true;
  for (const char* part : {"fget", "fset", "fdel"})
    if (!descriptor_part(tracer, object, part)) return false;
  return true;
}

Ref load_function_part(Tracer& tracer, PyObject* function, const char* attribute) {
  const Ref name = Ref::steal(interned(attribute));
  Ref raw = Ref::steal(PyObject_GetAttr(function, name.get()));
  if (!raw || !tracer.outside.source_of(function)) return raw;
  return enter_child(tracer, function, Access::Attribute, name.get(), raw.get());
}

}  // namespace minidynamo
