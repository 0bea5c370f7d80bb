// How outside objects enter a trace, and the stand-ins of builtin containers.
#include "world/world.h"

#include <algorithm>

#include "guard/constants.h"
#include "model/generic_alias.h"
#include "model/mapping_proxy.h"
#include "model/tensor_call.h"
#include "python/bound_method.h"
#include "python/dict_version.h"
#include "python/named_item.h"
#include "python/native_contents.h"
#include "python/nesting.h"
#include "python/numpy_scalar.h"
#include "python/out_of_memory.h"
#include "python/set_table.h"
#include "python/type_version.h"
#include "tensor/fake.h"
#include "trace/object_end.h"
#include "world/external_iterator.h"
#include "world/known_types.h"
#include "world/special_methods.h"
#include "world/tracer.h"

namespace minidynamo {
namespace {

constexpr Py_ssize_t kLargestContainer = 50'000;  // elements; larger ones are not taken apart

bool is_exact_constant_type(PyTypeObject* type) noexcept {
  return type == &PyUnicode_Type || type == &PyLong_Type || type == &PyBool_Type || type == Py_TYPE(Py_None) ||
         type == &PyFloat_Type || type == &PyBytes_Type || type == &PyComplex_Type || type == Py_TYPE(Py_Ellipsis) ||
         type == Py_TYPE(Py_NotImplemented) || type == &PyRange_Type;
}

bool is_torch_constant_type(PyTypeObject* type) noexcept {
  const KnownTypes* known = known_types();
  return type == known->dtype || type == known->device || type == known->layout || type == known->memory_format ||
         type == known->size;
}

// The builtin container type whose layout an object has, or null.
PyTypeObject* container_base(PyTypeObject* type) noexcept {
  const KnownTypes* known = known_types();
  if (type == &PyByteArray_Type) return type;
  for (PyTypeObject* base = type; base; base = base->tp_base)
    if (base == &PyList_Type || base == &PyDict_Type || base == &PySet_Type || base == known->ordered_dict ||
        base == known->default_dict || base == known->deque)
      return base;
  return nullptr;
}

// A tuple with names that C code made (sys.version_info), of nothing but constants.
bool is_record_of_constants(PyObject* object) {
  if (!named_item(Py_TYPE(object)->tp_dict, "n_sequence_fields")) return clear_error(), false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i)
    if (!is_constant(PyTuple_GET_ITEM(object, i))) return false;
  return true;
}

}  // namespace

bool is_guarded_by_identity(PyObject* object) noexcept {
  PyTypeObject* type = Py_TYPE(object);
  // A function defined inside another is made anew whenever that runs: its code and cells are guarded.
  if (PyFunction_Check(object))
    return !PyFunction_GET_CLOSURE(object) &&
           !(reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(object))->co_flags & CO_NESTED);
  if (PyType_Check(object) || PyModule_Check(object) || PyCode_Check(object)) return true;
  if (PyCFunction_Check(object)) return !is_bound_native_method(object);
  if (type == &PyMethodDescr_Type || type == &PyGetSetDescr_Type || type == &PyMemberDescr_Type ||
      type == &PyWrapperDescr_Type || type == &PyClassMethodDescr_Type || type == &PyProperty_Type ||
      type == &PyClassMethod_Type || type == &PyStaticMethod_Type || type == &PyCapsule_Type)
    return true;
  return PyObject_TypeCheck(reinterpret_cast<PyObject*>(type), known_types()->enum_meta);
}

bool is_constant(PyObject* object) noexcept {
  PyTypeObject* type = Py_TYPE(object);
  if (is_exact_constant_type(type) || is_torch_constant_type(type)) return true;
  if (type == &PyTuple_Type) {
    NestingLevel level;
    if (level.is_too_deep()) return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i)
      if (!is_constant(PyTuple_GET_ITEM(object, i))) return false;
    return true;
  }
  if (type == &PyFrozenSet_Type) {
    Py_ssize_t position = 0;
    PyObject* item;
    Py_hash_t hash;
    while (_PySet_NextEntry(object, &position, &item, &hash))
      if (!is_constant(item)) return false;
    return true;
  }
  if (type == &PySlice_Type) {
    auto* slice = reinterpret_cast<PySliceObject*>(object);
    return is_constant(slice->start) && is_constant(slice->stop) && is_constant(slice->step);
  }
  return false;
}

bool is_plain_key(PyObject* object) noexcept {
  PyTypeObject* type = Py_TYPE(object);
  return is_constant(object) || (!is_fake(object) && type->tp_hash == PyBaseObject_Type.tp_hash &&
                                 (type->tp_richcompare == PyBaseObject_Type.tp_richcompare || !type->tp_richcompare));
}

std::vector<Ref> elements_of(PyObject* container) {
  const std::vector<PyObject*> items = native_contents(container).items;
  std::vector<Ref> held;
  held.reserve(items.size());
  for (PyObject* item : items) held.push_back(Ref::borrow(item));
  return held;
}

// Asked for every item of a loop over an iterator from before the call: without making a copy.
bool differs_from_snapshot(const StandIn& stand_in) {
  PyObject* object = stand_in.object.get();
  const std::vector<Ref>& before = stand_in.snapshot;
  if (PyList_Check(object)) {
    if (static_cast<size_t>(PyList_GET_SIZE(object)) != before.size()) return true;
    for (size_t i = 0; i < before.size(); ++i)
      if (!before[i].is(PyList_GET_ITEM(object, static_cast<Py_ssize_t>(i)))) return true;
    return false;
  }
  // The order of an OrderedDict changes without the dict's version.
  const bool is_dict = PyDict_Check(object) && !PyODict_Check(object);
  if (is_dict && stand_in.version && stand_in.version == dict_version(object)) return false;
  const std::vector<Ref> now = elements_of(object);
  bool differs = now.size() != before.size();
  for (size_t i = 0; !differs && i < now.size(); ++i) differs = !before[i].is(now[i].get());
  return differs;
}

void accept_changes(StandIn& stand_in) {
  PyObject* object = stand_in.object.get();
  stand_in.snapshot = elements_of(object);
  stand_in.version = PyDict_CheckExact(object) ? dict_version(object) : 0;
  stand_in.changed_before = true;
}

bool may_have_been_changed(const StandIn& stand_in) noexcept {
  PyObject* object = stand_in.object.get();
  return !PyDict_Check(object) || PyODict_Check(object) || stand_in.version != dict_version(object);
}

Source* Outside::source_of(PyObject* object) const noexcept {
  auto found = sources_.find(object);
  return found == sources_.end() ? nullptr : found->second;
}

Source* Outside::source_or_pin(Tracer& tracer, PyObject* object) {
  if (Source* source = source_of(object)) return source;
  std::string text = "?";
  if (PyType_Check(object)) {
    text = reinterpret_cast<PyTypeObject*>(object)->tp_name;
  } else if (PyModule_Check(object)) {
    const char* name = PyModule_GetName(object);
    if (name)
      text = name;
    else
      clear_error();
  } else if (PyFunction_Check(object)) {
    text = PyUnicode_AsUTF8(reinterpret_cast<PyFunctionObject*>(object)->func_qualname);
  } else {
    text = Py_TYPE(object)->tp_name;
  }
  Source* source = tracer.guards.pinned(object, text);
  know(object, source);
  if (!is_guarded_by_identity(object)) pinned_types_.insert(Py_TYPE(object));
  return source;
}

Source* Outside::namespace_source(Tracer& tracer, PyObject* names, const char* text) {
  if (replacement_of(names)) {
    tracer.give_up(BreakReason::FrameIntrospection, "the names of a module are used as a dict");
    return nullptr;
  }
  if (!source_of(names)) know_namespace(names, tracer.guards.pinned(names, text));
  return source_of(names);
}

PyObject* Outside::replacement_of(PyObject* outside_object) const noexcept {
  auto found = replacements_.find(outside_object);
  return found == replacements_.end() ? nullptr : found->second.get();
}

Ref Outside::enter(Tracer& tracer, Source* source) {
  PyObject* raw = source->value.get();
  PyTypeObject* type = Py_TYPE(raw);
  if (is_exact_constant_type(type)) {
    tracer.guards.add(source, GuardKind::Constant, tracer.origin());
    return Ref::borrow(raw);
  }
  if (auto known = sources_.find(raw); known != sources_.end()) {  // stands for itself
    if (known->second == source) return Ref::borrow(raw);
    if (is_guarded_by_identity(raw) || known->second->access == Access::Pinned)
      tracer.guards.add(source, GuardKind::Identity, tracer.origin());
    else
      tracer.guards.add_relation(source, GuardKind::SameAs, known->second, tracer.origin());
    return Ref::borrow(raw);
  }
  if (auto replaced = replacements_.find(raw); replaced != replacements_.end()) {
    Source* first = source_of(replaced->second.get());
    if (first != source) tracer.guards.add_relation(source, GuardKind::SameAs, first, tracer.origin());
    return replaced->second;
  }
  if (is_tensor(raw)) return enter_tensor(tracer, source);
  NestingLevel level;
  if (level.is_too_deep())
    return tracer.give_up(BreakReason::ContainerTooLarge, source->to_text().substr(0, 200) + "... is nested too deep");
  if (is_torch_constant_type(type) || ((type == &PySlice_Type || type == &PyFrozenSet_Type) && is_constant(raw))) {
    tracer.guards.add(source, GuardKind::Constant, tracer.origin());
    return Ref::borrow(raw);
  }
  if (PyTuple_Check(raw)) return enter_tuple(tracer, source);
  if (Py_IS_TYPE(raw, &_PyMethodWrapper_Type) || (PyCFunction_Check(raw) && is_bound_native_method(raw)))
    return descriptor_behind(raw) ? enter_bound_native(tracer, source) : enter_opaque(tracer, source);
  if (type == &PySuper_Type) return enter_super(tracer, source);
  if (is_guarded_by_identity(raw)) {
    tracer.guards.add(source, GuardKind::Identity, tracer.origin());
    know(raw, source);
    return Ref::borrow(raw);
  }
  if (type == &PyMethod_Type) {  // a bound method kept somewhere: made anew from its parts
    tracer.guards.add(source, GuardKind::ExactType, tracer.origin());
    static PyObject* const function_name = interned("__func__");
    static PyObject* const self_name = interned("__self__");
    Ref function =
        enter(tracer, tracer.guards.child(source, Access::Attribute, function_name, -1, PyMethod_GET_FUNCTION(raw)));
    Ref self = enter(tracer, tracer.guards.child(source, Access::Attribute, self_name, -1, PyMethod_GET_SELF(raw)));
    if (!function || !self) return nullptr;
    Ref bound = Ref::made(PyMethod_New(function.get(), self.get()));
    replacements_.emplace(raw, bound);
    know(bound.get(), source);
    return bound;
  }
  if (type == &PyByteArray_Type && is_exported(raw)) return enter_opaque(tracer, source);
  if (container_base(type)) {
    for (const Frame* frame = tracer.frame; frame; frame = frame->caller)  // its names are read and written as such
      if (frame->globals.is(raw)) return enter_opaque(tracer, source);
    return enter_container(tracer, source);
  }
  if (can_follow_iterator(raw)) {
    Ref iterator = enter_iterator(tracer, source);
    if (!iterator) return nullptr;
    replacements_.emplace(raw, iterator);
    know(iterator.get(), source);
    return iterator;
  }
  if (type == &PyDictProxy_Type) return enter_proxy(tracer, source);
  return enter_instance(tracer, source);
}

Ref Outside::enter_proxy(Tracer& tracer, Source* source) {
  Ref proxy = enter_mapping_proxy(tracer, source);
  if (tracer.broken()) return nullptr;
  if (!proxy) return enter_opaque(tracer, source);
  replacements_.emplace(source->value.get(), proxy);
  know(proxy.get(), source);
  return proxy;
}

namespace {

// Such a match asks the bytearray for its bytes when it is asked for them.
bool is_match_in_bytearray(PyObject* match) {
  Ref searched = native_attribute(match, "string");
  if (!searched) clear_error();
  return searched && PyByteArray_Check(searched.get());
}

}  // namespace

// What the C part of an object keeps decides, whatever a Python class adds to it.
Ref Outside::enter_instance(Tracer& tracer, Source* source) {
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
  know(raw, source);
  if (is_generic_alias_or_union(base)) pin_parts(tracer, raw);
  return Ref::borrow(raw);
}

// What only holds other objects (a bound C method, a super object, a view of a dict): made anew of what stands for
// these. `make` gets the in-trace form of the one object.
Ref Outside::enter_holder(Tracer& tracer, Source* source, const char* held_name,
                          const std::function<Ref(PyObject*)>& make) {
  PyObject* raw = source->value.get();
  tracer.guards.add(source, GuardKind::ExactType, tracer.origin());
  Ref name = Ref::made(PyUnicode_InternFromString(held_name));
  Ref held = native_attribute(raw, name.get());
  Ref entered =
      held ? enter(tracer, tracer.guards.child(source, Access::Attribute, name.get(), -1, held.get())) : Ref();
  if (!entered) return nullptr;
  Ref made = is_opaque(entered.get()) || !fill_if_stand_in(tracer, entered.get()) ? Ref() : make(entered.get());
  if (tracer.broken()) return nullptr;
  clear_error();
  if (!made) return enter_opaque(tracer, source);
  replacements_.emplace(raw, made);
  know(made.get(), source);
  return made;
}

// An attribute of a holder that must be the same at the next call.
void Outside::guard_part(Tracer& tracer, Source* source, const char* name, GuardKind kind) {
  Ref key = Ref::made(PyUnicode_InternFromString(name));
  Ref part = native_attribute(source->value.get(), key.get());
  if (part)
    tracer.guards.add(tracer.guards.child(source, Access::Attribute, key.get(), -1, part.get()), kind, tracer.origin());
  clear_error();
}

Ref Outside::enter_bound_native(Tracer& tracer, Source* source) {
  PyObject* raw = source->value.get();
  PyObject* descriptor = descriptor_behind(raw);
  guard_part(tracer, source, "__name__", GuardKind::Constant);
  if (!PyCFunction_Check(raw)) guard_part(tracer, source, "__objclass__", GuardKind::Identity);
  return enter_holder(tracer, source, "__self__", [&](PyObject* self) {
    return Ref::steal(Py_TYPE(descriptor)->tp_descr_get(descriptor, self, reinterpret_cast<PyObject*>(Py_TYPE(self))));
  });
}

Ref Outside::enter_super(Tracer& tracer, Source* source) {
  Ref after = native_attribute(source->value.get(), "__thisclass__");
  guard_part(tracer, source, "__thisclass__", GuardKind::Identity);
  return enter_holder(tracer, source, "__self__", [&](PyObject* self) {
    return Ref::steal(
        PyObject_CallFunctionObjArgs(reinterpret_cast<PyObject*>(&PySuper_Type), after.get(), self, nullptr));
  });
}

Ref Outside::enter_opaque(Tracer& tracer, Source* source) {
  tracer.guards.add(source, GuardKind::ExactType, tracer.origin());
  know(source->value.get(), source);
  opaque_.insert(source->value.get());
  return source->value;
}

Ref Outside::enter_tensor(Tracer& tracer, Source* source) {
  PyObject* raw = source->value.get();
  if (is_fake(raw)) return tracer.give_up(BreakReason::FakeInput, "an input is a fake tensor of another trace");
  Ref fake = is_plain_tensor_class(Py_TYPE(raw)) ? make_fake(raw) : Ref();
  if (!fake) {
    clear_error();
    return enter_opaque(tracer, source);
  }
  tracer.guards.add(source, GuardKind::Tensor, tracer.origin());
  tracer.graph.add_placeholder(source->to_text(), fake);
  replacements_.emplace(raw, fake);
  know(fake.get(), source);
  fakes_.push_back(fake.get());
  return fake;
}

Ref Outside::enter_tuple(Tracer& tracer, Source* source) {
  PyObject* raw = source->value.get();
  PyTypeObject* type = Py_TYPE(raw);
  if (type == &PyTuple_Type && is_constant(raw)) {
    tracer.guards.add(source, GuardKind::Constant, tracer.origin());
    return Ref::borrow(raw);
  }
  if (type != &PyTuple_Type && !PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) && !is_record_of_constants(raw))
    return enter_opaque(tracer, source);
  if (has_finalizer(tracer, type)) return enter_opaque(tracer, source);
  tracer.guards.add(source, GuardKind::ExactType, tracer.origin());
  tracer.guards.add(source, GuardKind::Length, tracer.origin());
  const Py_ssize_t count = PyTuple_GET_SIZE(raw);
  Ref items = Ref::made(PyTuple_New(count));
  for (Py_ssize_t i = 0; i < count; ++i) {
    Ref item = enter(
        tracer, tracer.guards.child(source, Access::Index, nullptr, static_cast<int32_t>(i), PyTuple_GET_ITEM(raw, i)));
    if (!item || !fill_if_stand_in(tracer, item.get())) return nullptr;
    PyTuple_SET_ITEM(items.get(), i, item.release());
  }
  bool unchanged = true;
  for (Py_ssize_t i = 0; i < count; ++i) unchanged &= PyTuple_GET_ITEM(items.get(), i) == PyTuple_GET_ITEM(raw, i);
  if (unchanged) {
    know(raw, source);
    return Ref::borrow(raw);
  }
  if (type != &PyTuple_Type) {
    Ref arguments = Ref::made(PyTuple_Pack(1, items.get()));
    items = Ref::steal(PyTuple_Type.tp_new(type, arguments.get(), nullptr));
    if (!items) return nullptr;
  }
  replacements_.emplace(raw, items);
  know(items.get(), source);
  return items;
}

Ref Outside::enter_container(Tracer& tracer, Source* source) {
  PyObject* raw = source->value.get();
  PyTypeObject* type = Py_TYPE(raw);
  PyTypeObject* base = container_base(type);
  if (has_finalizer(tracer, type)) return enter_opaque(tracer, source);
  tracer.guards.add(source, GuardKind::ExactType, tracer.origin());
  Ref nothing = Ref::made(PyTuple_New(0));
  Ref object = Ref::steal(base->tp_new(type, nothing.get(), nullptr));
  if (!object) return nullptr;
  auto attribute = [&](const char* name) {
    Ref key = Ref::made(PyUnicode_InternFromString(name));
    Ref value = native_attribute(raw, key.get());
    return value ? enter(tracer, tracer.guards.child(source, Access::Attribute, key.get(), -1, value.get())) : Ref();
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
  stand_ins_.push_back({Ref::borrow(raw), object, source});
  stand_in_of_.emplace(object.get(), &stand_ins_.back());
  replacements_.emplace(raw, object);
  know(object.get(), source);
  if (type != &PyList_Type && type != &PyDict_Type && !fill(tracer, stand_ins_.back())) return nullptr;
  return object;
}

StandIn* Outside::stand_in(PyObject* object) noexcept {
  PyTypeObject* type = Py_TYPE(object);
  if (is_exact_constant_type(type) || type == &PyFunction_Type || type == &PyTuple_Type) return nullptr;
  auto found = stand_in_of_.find(object);
  if (found == stand_in_of_.end()) return nullptr;
  ++stand_in_uses_;
  return found->second;
}

bool Outside::fill(Tracer& tracer, StandIn& stand_in) {
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
    Ref item = enter(tracer, tracer.guards.child(stand_in.source, access, key, static_cast<int32_t>(index), value));
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
    while (_PySet_NextEntry(original, &position, &item, &hash)) {
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
      if (!is_guarded_by_identity(key)) pinned_types_.insert(Py_TYPE(key));
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
                                   : _PyDict_SetItem_KnownHash(object, key, item.get(), contents.hashes[i]);
    if (status < 0) return false;
    stand_in.snapshot.push_back(Ref::borrow(key));
    stand_in.snapshot.push_back(std::move(item));
  }
  stand_in.version = dict_version(object);
  return true;
}

bool Outside::has_attributes(Tracer& tracer, const StandIn& stand_in) {
  PyObject* original = stand_in.original.get();
  if (!has_instance_dict(Py_TYPE(original))) return false;
  PyObject* dict = instance_dict(original);
  if (dict && PyDict_GET_SIZE(dict)) return true;
  if (tracer.effects.has_writes(stand_in.object.get())) return true;
  Source* own = tracer.guards.child(stand_in.source, Access::InstanceDict, nullptr, -1, dict ? dict : original);
  tracer.guards.add(own, GuardKind::DictKeys, tracer.origin());
  return false;
}

Ref Outside::dict_item(Tracer& tracer, StandIn& stand_in, PyObject* key, bool& found) {
  PyObject* raw = nullptr;
  uint32_t hint = 0;
  found = false;
  if (::minidynamo::dict_item(stand_in.original.get(), key, PyObject_Hash(key), hint, raw) == Lookup::Undecided)
    return tracer.give_up(BreakReason::UnsupportedObject,
                          stand_in.source->to_text() + ": a key is compared by a Python method");
  found = raw != nullptr;
  if (raw) return enter(tracer, tracer.guards.child(stand_in.source, Access::DictItem, key, -1, raw));
  tracer.guards.add_missing(stand_in.source, Access::DictItem, key, -1, tracer.origin());
  return nullptr;
}

Ref Outside::sequence_item(Tracer& tracer, StandIn& stand_in, Py_ssize_t index) {
  PyObject* raw = PyList_GET_ITEM(stand_in.original.get(), index);
  return enter(tracer, tracer.guards.child(stand_in.source, Access::Index, nullptr, static_cast<int32_t>(index), raw));
}

Py_ssize_t Outside::length(Tracer& tracer, StandIn& stand_in) {
  tracer.guards.add(stand_in.source, GuardKind::Length, tracer.origin());
  return native_size(stand_in.original.get());
}

}  // namespace minidynamo
