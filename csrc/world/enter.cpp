// How each kind of object enters: by value, by identity, as a fake, as a stand-in, or as something that can only be
// passed on.
#include "world/enter.h"

#include <algorithm>
#include <functional>

#include "guard/constants.h"
#include "python/bound_method.h"
#include "python/dict_version.h"
#include "python/mapping_proxy.h"
#include "python/named_item.h"
#include "python/native_contents.h"
#include "python/nesting.h"
#include "python/numpy_scalar.h"
#include "python/out_of_memory.h"
#include "python/set_table.h"
#include "python/type_version.h"
#include "python/unstable.h"
#include "tensor/fake.h"
#include "world/external_iterator.h"
#include "world/generic_alias.h"
#include "world/known_types.h"
#include "world/mapping_proxy.h"
#include "world/native_objects.h"
#include "world/pin.h"
#include "world/special_methods.h"
#include "world/types.h"

namespace minidynamo {
namespace {

constexpr Py_ssize_t kLargestContainer = 50'000;  // elements; larger ones are not taken apart

// A tuple with names that C code made (sys.version_info), of nothing but constants.
bool is_record_of_constants(PyObject* object) {
  if (!named_item(namespace_of(Py_TYPE(object)), "n_sequence_fields")) return clear_error(), false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i)
    if (!is_constant(PyTuple_GET_ITEM(object, i))) return false;
  return true;
}

// Such a match asks the bytearray for its bytes when it is asked for them.
bool is_match_in_bytearray(PyObject* match) {
  Ref searched = native_attribute(match, "string");
  if (!searched) clear_error();
  return searched && PyByteArray_Check(searched.get());
}

// Whether instances of a class from before the trace have a finalizer, guarded.
bool dies_loudly(Tracer& tracer, PyTypeObject* type) {
  static PyObject* const del_name = interned("__del__");
  if (!is_python_class(type)) return false;
  if (class_attribute(type, del_name)) return true;
  tracer.guards.add_missing(source_or_pin(tracer, reinterpret_cast<PyObject*>(type)), Access::ClassAttribute, del_name,
                            -1, tracer.origin());
  return false;
}

// An in-trace object stands for what a source gave.
Ref stands_for(Tracer& tracer, Source* source, Ref object) {
  tracer.world.replace(source->value.get(), object);
  tracer.world.know(object.get(), source);
  return object;
}

Ref enter_opaque(Tracer& tracer, Source* source) {
  tracer.guards.add(source, GuardKind::ExactType, tracer.origin());
  tracer.world.know(source->value.get(), source);
  tracer.world.make_opaque(source->value.get());
  return source->value;
}

Ref enter_tensor(Tracer& tracer, Source* source) {
  PyObject* raw = source->value.get();
  if (is_fake(raw)) return tracer.give_up(BreakReason::FakeInput, "an input is a fake tensor of another trace");
  Ref fake = is_plain_tensor_class(Py_TYPE(raw)) ? make_fake(raw) : Ref();
  if (!fake) {
    clear_error();
    return enter_opaque(tracer, source);
  }
  tracer.guards.add(source, GuardKind::Tensor, tracer.origin());
  tracer.graph.add_placeholder(source->to_text(), fake);
  tracer.world.add_fake(fake.get());
  return stands_for(tracer, source, std::move(fake));
}

// An attribute of a holder that must be the same at the next call.
void guard_part(Tracer& tracer, Source* source, const char* name, GuardKind kind) {
  Ref key = Ref::made(PyUnicode_InternFromString(name));
  Ref part = native_attribute(source->value.get(), key.get());
  if (part)
    tracer.guards.add(tracer.guards.child(source, Access::Attribute, key.get(), -1, part.get()), kind, tracer.origin());
  clear_error();
}

// What only holds other objects (a bound C method, a super object, a view of a dict): made anew of what stands for
// these. `make` gets the in-trace form of the one object.
Ref enter_holder(Tracer& tracer, Source* source, const char* held_name, const std::function<Ref(PyObject*)>& make) {
  PyObject* raw = source->value.get();
  tracer.guards.add(source, GuardKind::ExactType, tracer.origin());
  Ref name = Ref::made(PyUnicode_InternFromString(held_name));
  Ref held = native_attribute(raw, name.get());
  Ref entered = held ? load_part(tracer, source, Access::Attribute, name.get(), held.get()) : Ref();
  if (!entered) return nullptr;
  Ref made =
      tracer.world.is_opaque(entered.get()) || !fill_if_stand_in(tracer, entered.get()) ? Ref() : make(entered.get());
  if (tracer.broken()) return nullptr;
  clear_error();
  if (!made) return enter_opaque(tracer, source);
  return stands_for(tracer, source, std::move(made));
}

Ref enter_bound_native(Tracer& tracer, Source* source) {
  PyObject* raw = source->value.get();
  PyObject* descriptor = descriptor_behind(raw);
  guard_part(tracer, source, "__name__", GuardKind::Constant);
  if (!PyCFunction_Check(raw)) guard_part(tracer, source, "__objclass__", GuardKind::Identity);
  return enter_holder(tracer, source, "__self__", [&](PyObject* self) {
    return Ref::steal(Py_TYPE(descriptor)->tp_descr_get(descriptor, self, reinterpret_cast<PyObject*>(Py_TYPE(self))));
  });
}

Ref enter_super(Tracer& tracer, Source* source) {
  Ref after = native_attribute(source->value.get(), "__thisclass__");
  guard_part(tracer, source, "__thisclass__", GuardKind::Identity);
  return enter_holder(tracer, source, "__self__", [&](PyObject* self) {
    return Ref::steal(
        PyObject_CallFunctionObjArgs(reinterpret_cast<PyObject*>(&PySuper_Type), after.get(), self, nullptr));
  });
}

Ref enter_tuple(Tracer& tracer, Source* source) {
  PyObject* raw = source->value.get();
  PyTypeObject* type = Py_TYPE(raw);
  if (type == &PyTuple_Type && is_constant(raw)) {
    tracer.guards.add(source, GuardKind::Constant, tracer.origin());
    return Ref::borrow(raw);
  }
  if (type != &PyTuple_Type && !PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) && !is_record_of_constants(raw))
    return enter_opaque(tracer, source);
  if (dies_loudly(tracer, type)) return enter_opaque(tracer, source);
  tracer.guards.add(source, GuardKind::ExactType, tracer.origin());
  tracer.guards.add(source, GuardKind::Length, tracer.origin());
  const Py_ssize_t count = PyTuple_GET_SIZE(raw);
  Ref items = Ref::made(PyTuple_New(count));
  for (Py_ssize_t i = 0; i < count; ++i) {
    Ref item = load_part(tracer, source, Access::Index, nullptr, PyTuple_GET_ITEM(raw, i), static_cast<int32_t>(i));
    if (!item || !fill_if_stand_in(tracer, item.get())) return nullptr;
    PyTuple_SET_ITEM(items.get(), i, item.release());
  }
  bool unchanged = true;
  for (Py_ssize_t i = 0; i < count; ++i) unchanged &= PyTuple_GET_ITEM(items.get(), i) == PyTuple_GET_ITEM(raw, i);
  if (unchanged) {
    tracer.world.know(raw, source);
    return Ref::borrow(raw);
  }
  if (type != &PyTuple_Type) {
    Ref arguments = Ref::made(PyTuple_Pack(1, items.get()));
    items = Ref::steal(PyTuple_Type.tp_new(type, arguments.get(), nullptr));
    if (!items) return nullptr;
  }
  return stands_for(tracer, source, std::move(items));
}

Ref enter_container(Tracer& tracer, Source* source) {
  PyObject* raw = source->value.get();
  PyTypeObject* type = Py_TYPE(raw);
  PyTypeObject* base = container_base(type);
  if (dies_loudly(tracer, type)) return enter_opaque(tracer, source);
  tracer.guards.add(source, GuardKind::ExactType, tracer.origin());
  Ref nothing = Ref::made(PyTuple_New(0));
  Ref object = Ref::steal(base->tp_new(type, nothing.get(), nullptr));
  if (!object) return nullptr;
  auto attribute = [&](const char* name) {
    Ref key = Ref::made(PyUnicode_InternFromString(name));
    Ref value = native_attribute(raw, key.get());
    return value ? load_part(tracer, source, Access::Attribute, key.get(), value.get()) : Ref();
  };
  if (base == known_types()->deque) {
    Ref limit = attribute("maxlen");
    if (!limit) return nullptr;
    Ref arguments = Ref::made(PyTuple_Pack(2, nothing.get(), limit.get()));
    if (base->tp_init(object.get(), arguments.get(), nullptr) < 0) return nullptr;
  } else if (base == known_types()->default_dict) {
    Ref factory = attribute("default_factory");
    if (!factory) return nullptr;
    Ref arguments = Ref::made(PyTuple_Pack(1, factory.get()));
    if (base->tp_init(object.get(), arguments.get(), nullptr) < 0) return nullptr;
  }
  StandIn& stand_in = tracer.world.add_stand_in(Ref::borrow(raw), object, source);
  if (type != &PyList_Type && type != &PyDict_Type && !fill(tracer, stand_in)) return nullptr;
  return object;
}

// A frozenset of constants, classes, functions: it stays as it is, and so do they.
bool is_set_of_named(PyObject* object) {
  Py_ssize_t position = 0;
  PyObject* item;
  Py_hash_t hash;
  while (next_in_set(object, position, item, hash))
    if (!is_constant(item) && !is_guarded_by_identity(item)) return false;
  return true;
}

Ref enter_set_of_named(Tracer& tracer, Source* source) {
  PyObject* raw = source->value.get();
  tracer.guards.add(source, GuardKind::Identity, tracer.origin());
  tracer.world.know(raw, source);
  Py_ssize_t position = 0;
  PyObject* item;
  Py_hash_t hash;
  while (next_in_set(raw, position, item, hash))
    if (!is_constant(item)) source_or_pin(tracer, item);
  return Ref::borrow(raw);
}

// What the C part of an object keeps decides, whatever a Python class adds to it.
Ref enter_instance(Tracer& tracer, Source* source) {
  PyObject* raw = source->value.get();
  PyTypeObject* base = native_base(Py_TYPE(raw));
  const bool is_static = !PyType_HasFeature(base, Py_TPFLAGS_HEAPTYPE);
  const bool holds_others = base == &PyDictKeys_Type || base == &PyDictValues_Type || base == &PyDictItems_Type ||
                            base == &PyDictProxy_Type || base == &PyFrozenSet_Type || base == &PySlice_Type;
  const bool is_of_one_run =
      base == &PyFrame_Type || base == &PyTraceBack_Type || (PyWeakref_Check(raw) && !PyWeakref_CheckRefExact(raw));
  const bool is_iterator = base->tp_iternext && base->tp_iternext != _PyObject_NextNotImplemented;
  if (base == known_types()->match && is_match_in_bytearray(raw)) return enter_opaque(tracer, source);
  if (base != Py_TYPE(raw) && has_bound_special_method(Py_TYPE(raw))) return enter_opaque(tracer, source);
  if (is_static &&
      (is_iterator || base == &PyByteArray_Type || base == &PyMemoryView_Type || is_of_one_run || holds_others))
    return enter_opaque(tracer, source);
  // Instances of Python classes are read attribute by attribute; the values that they may have as numbers and strings
  // are there for C code to read. Other objects are taken as they are, by identity.
  const bool is_value = has_plain_instances(base) || is_numpy_scalar(raw);
  const bool is_instance = base == &PyBaseObject_Type || is_value || base == &PyCell_Type ||
                           base == known_types()->partial || base == known_types()->simple_namespace ||
                           PyFunction_Check(raw) || PyExceptionInstance_Check(raw) || PyWeakref_CheckRefExact(raw) ||
                           (base != Py_TYPE(raw) && !is_static);  // what C code keeps in it is not asked for
  tracer.guards.add(source, is_instance ? GuardKind::ExactType : GuardKind::Identity, tracer.origin());
  if (is_value) tracer.guards.add(source, GuardKind::Value, tracer.origin());
  tracer.world.know(raw, source);
  if (is_generic_alias_or_union(base)) pin_parts(tracer, raw);
  return Ref::borrow(raw);
}

Ref enter_proxy(Tracer& tracer, Source* source) {
  PyObject* mapping = proxied_mapping(source->value.get());
  if (!PyDict_Check(mapping)) return enter_opaque(tracer, source);
  tracer.guards.add(source, GuardKind::ExactType, tracer.origin());
  Ref dict = load_part(tracer, source, Access::Proxied, nullptr, mapping);
  Ref proxy = dict ? proxy_over(tracer, dict.get()) : Ref();
  return proxy ? stands_for(tracer, source, std::move(proxy)) : Ref();
}

// Of an item that an iterator gives.
Ref enter_filled(Tracer& tracer, Source* source) {
  Ref entered = enter(tracer, source);
  return entered && fill_if_stand_in(tracer, entered.get()) ? entered : Ref();
}

// An iterator, whose parts (what an enumerate or zip was made from) enter with it.
Ref enter_iterator(Tracer& tracer, Source* source) {
  PyObject* raw = source->value.get();
  tracer.guards.add(source, GuardKind::ExactType, tracer.origin());
  Ref parts = parts_of_iterator(raw);
  if (!parts) {
    Ref object = make_external_iterator(tracer, source, nullptr, enter_filled);
    return object ? stands_for(tracer, source, std::move(object)) : Ref();
  }
  PyObject* arguments = PyTuple_GET_ITEM(parts.get(), 1);
  Ref entered = Ref::made(PyTuple_New(PyTuple_GET_SIZE(arguments)));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(arguments); ++i) {
    Ref item = load_part(tracer, source, Access::IteratorPart, nullptr, PyTuple_GET_ITEM(arguments, i),
                         static_cast<int32_t>(i));
    if (!item) return nullptr;
    if (is_outside_iterator(item.get())) becomes_part(item.get());
    PyTuple_SET_ITEM(entered.get(), i, item.release());
  }
  Ref inner = Ref::steal(PyObject_Call(PyTuple_GET_ITEM(parts.get(), 0), entered.get(), nullptr));
  Ref object = inner ? make_external_iterator(tracer, source, std::move(inner), enter_filled) : Ref();
  return object ? stands_for(tracer, source, std::move(object)) : Ref();
}

}  // namespace

Ref enter(Tracer& tracer, Source* source) {
  PyObject* raw = source->value.get();
  PyTypeObject* type = Py_TYPE(raw);
  if (is_exact_constant_type(type)) {
    tracer.guards.add(source, GuardKind::Constant, tracer.origin());
    return Ref::borrow(raw);
  }
  if (Source* known = tracer.world.source_of(raw)) {  // stands for itself
    if (known == source) return Ref::borrow(raw);
    if (is_guarded_by_identity(raw) || known->access == Access::Pinned)
      tracer.guards.add(source, GuardKind::Identity, tracer.origin());
    else
      tracer.guards.add_relation(source, GuardKind::SameAs, known, tracer.origin());
    return Ref::borrow(raw);
  }
  if (PyObject* replaced = tracer.world.replacement_of(raw)) {
    Source* first = tracer.world.source_of(replaced);
    if (first != source) tracer.guards.add_relation(source, GuardKind::SameAs, first, tracer.origin());
    return Ref::borrow(replaced);
  }
  if (is_tensor(raw)) return enter_tensor(tracer, source);
  NestingLevel level;
  if (level.is_too_deep())
    return tracer.give_up(BreakReason::ContainerTooLarge, source->to_text().substr(0, 200) + "... is nested too deep");
  if (is_native_value(raw)) {
    tracer.guards.add(source, GuardKind::Constant, tracer.origin());
    tracer.world.know(raw, source);  // as a result it is that very object
    return Ref::borrow(raw);
  }
  if (is_torch_constant_type(type) || ((type == &PySlice_Type || type == &PyFrozenSet_Type) && is_constant(raw))) {
    tracer.guards.add(source, GuardKind::Constant, tracer.origin());
    return Ref::borrow(raw);
  }
  if (is_own_native_type(type) && !is_python_class(type)) return enter_opaque(tracer, source);
  static constinit ImportedType script_object{"torch._C.ScriptObject"};
  if (type == script_object) return enter_opaque(tracer, source);  // one is made for each use
  if (type == &PyFrozenSet_Type && is_set_of_named(raw)) return enter_set_of_named(tracer, source);
  if (PyTuple_Check(raw)) return enter_tuple(tracer, source);
  if (Py_IS_TYPE(raw, &_PyMethodWrapper_Type) || (PyCFunction_Check(raw) && is_bound_native_method(raw)))
    return descriptor_behind(raw) ? enter_bound_native(tracer, source) : enter_opaque(tracer, source);
  if (type == &PySuper_Type) return enter_super(tracer, source);
  if (is_guarded_by_identity(raw)) {
    tracer.guards.add(source, GuardKind::Identity, tracer.origin());
    tracer.world.know(raw, source);
    return Ref::borrow(raw);
  }
  if (type == &PyMethod_Type) {  // a bound method kept somewhere: made anew from its parts
    tracer.guards.add(source, GuardKind::ExactType, tracer.origin());
    static PyObject* const function_name = interned("__func__");
    static PyObject* const self_name = interned("__self__");
    Ref function = load_part(tracer, source, Access::Attribute, function_name, PyMethod_GET_FUNCTION(raw));
    Ref self = load_part(tracer, source, Access::Attribute, self_name, PyMethod_GET_SELF(raw));
    if (!function || !self) return nullptr;
    Ref bound = Ref::made(PyMethod_New(function.get(), self.get()));
    return stands_for(tracer, source, std::move(bound));
  }
  if (type == &PyByteArray_Type && is_exported(raw)) return enter_opaque(tracer, source);
  if (container_base(type)) {
    for (const Frame* frame = tracer.frame; frame; frame = frame->caller)  // its names are read and written as such
      if (frame->globals.is(raw)) return enter_opaque(tracer, source);
    return enter_container(tracer, source);
  }
  if (can_follow_iterator(raw)) return enter_iterator(tracer, source);
  if (type == &PyDictProxy_Type) return enter_proxy(tracer, source);
  return enter_instance(tracer, source);
}

bool fill(Tracer& tracer, StandIn& stand_in) {
  stand_in.filled = true;  // first: a container may hold itself
  NestingLevel level;
  if (level.is_too_deep())
    return tracer.give_up(BreakReason::ContainerTooLarge, "containers are nested too deep") != nullptr;
  PyObject* original = stand_in.original.get();
  PyObject* object = stand_in.object.get();
  PyTypeObject* base = container_base(Py_TYPE(original));
  if (native_size(original) > kLargestContainer)
    return tracer.give_up(BreakReason::ContainerTooLarge, stand_in.source->to_text() + " has too many elements") !=
           nullptr;
  auto entered = [&](Access access, PyObject* key, Py_ssize_t index, PyObject* value) {
    Ref item = load_part(tracer, stand_in.source, access, key, value, static_cast<int32_t>(index));
    if (item && !fill_if_stand_in(tracer, item.get())) item.reset();
    return item;
  };
  if (base == &PyList_Type || base == known_types()->deque) {
    tracer.guards.add(stand_in.source, GuardKind::Length, tracer.origin());
    const std::vector<PyObject*> items = native_contents(original).items;
    for (size_t i = 0; i < items.size(); ++i) {
      Ref item = entered(Access::Index, nullptr, static_cast<Py_ssize_t>(i), items[i]);
      if (!item) return false;
      if (base == &PyList_Type) {
        if (PyList_Append(object, item.get()) < 0) return false;
      } else {
        Ref one = Ref::made(PyTuple_Pack(1, item.get()));
        Ref done = Ref::steal(base->tp_as_sequence->sq_inplace_concat(object, one.get()));
        if (!done) return false;
      }
      stand_in.snapshot.push_back(std::move(item));
    }
    return true;
  }
  if (base == &PyByteArray_Type) {
    tracer.guards.add(stand_in.source, GuardKind::Value, tracer.origin());
    if (PyByteArray_Resize(object, PyByteArray_GET_SIZE(original)) < 0) return false;
    std::copy_n(PyByteArray_AS_STRING(original), PyByteArray_GET_SIZE(original), PyByteArray_AS_STRING(object));
    stand_in.snapshot = elements_of(object);
    return true;
  }
  if (base == &PySet_Type) {
    tracer.guards.add(stand_in.source, GuardKind::SetItems, tracer.origin());
    Py_ssize_t position = 0;
    PyObject* item;
    Py_hash_t hash;
    while (next_in_set(original, position, item, hash)) {
      if (!is_constant(item) && !is_guarded_by_identity(item))
        return tracer.give_up(BreakReason::UnsupportedObject, stand_in.source->to_text() + ": a set of objects") !=
               nullptr;
      if (!is_constant(item)) source_or_pin(tracer, item);
      stand_in.snapshot.push_back(Ref::borrow(item));
    }
    return copy_set_table(object, original);
  }
  tracer.guards.add(stand_in.source, GuardKind::DictKeys, tracer.origin());
  const NativeContents contents = native_contents(original);
  for (size_t i = 0; i < contents.hashes.size(); ++i) {
    PyObject* key = contents.items[2 * i];
    PyObject* value = contents.items[2 * i + 1];
    if (!is_constant(key)) {
      if (is_tensor(key))
        return tracer.give_up(BreakReason::UnsupportedObject, stand_in.source->to_text() + ": tensors as keys") !=
               nullptr;
      // The dict's own check wants this very key: where else it is reached, it must be that object too.
      Source* known = source_or_pin(tracer, key);
      if (known->access != Access::Pinned) tracer.guards.add(known, GuardKind::Identity, tracer.origin());
      if (!is_guarded_by_identity(key)) tracer.world.pins(Py_TYPE(key));
      // No guard may look for a key past another of the same hash whose __eq__ is the program's.
      uint32_t hint = 0;
      PyObject* raw = nullptr;
      if (::minidynamo::dict_item(original, key, contents.hashes[i], hint, raw) == Lookup::Undecided)
        return tracer.give_up(BreakReason::UnsupportedObject,
                              stand_in.source->to_text() + ": a key is compared by a Python method") != nullptr;
    }
    const bool keeps_order = base == known_types()->ordered_dict;  // it asks the key for its hash
    if (keeps_order && !compares_natively(key))
      return tracer.give_up(BreakReason::UnsupportedObject,
                            stand_in.source->to_text() + ": an OrderedDict whose keys have Python methods") != nullptr;
    Ref item = entered(Access::DictItem, key, -1, value);
    if (!item) return false;
    const int status = keeps_order ? base->tp_as_mapping->mp_ass_subscript(object, key, item.get())
                                   : set_item_with_hash(object, key, item.get(), contents.hashes[i]);
    if (status < 0) return false;
    stand_in.snapshot.push_back(Ref::borrow(key));
    stand_in.snapshot.push_back(std::move(item));
  }
  stand_in.version = dict_version(object);
  return true;
}

Ref load_part(Tracer& tracer, Source* owner, Access access, PyObject* key, PyObject* raw, int32_t index) {
  if (raw) return enter(tracer, tracer.guards.child(owner, access, key, index, raw));
  tracer.guards.add_missing(owner, access, key, index, tracer.origin());
  return nullptr;
}

}  // namespace minidynamo
