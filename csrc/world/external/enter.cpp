// Enters objects of each kind: by value, by identity, as a fake, as a shadow, or as something that can only be passed
// on.
#include "world/external/enter.h"

#include <algorithm>
#include <functional>

#include "guard/constants.h"
#include "python/code/bound_method.h"
#include "python/code/struct_sequence.h"
#include "python/objects/iterators.h"
#include "python/objects/mapping_proxy.h"
#include "python/objects/native_contents.h"
#include "python/objects/numpy_scalar.h"
#include "python/objects/set_table.h"
#include "python/process/nesting.h"
#include "python/process/out_of_memory.h"
#include "python/unstable.h"
#include "python/version/dict_version.h"
#include "python/version/type_version.h"
#include "tensor/fake/array_elements.h"
#include "tensor/fake/fake.h"
#include "tensor/fake/wrapper_fake.h"
#include "world/external/external_iterator.h"
#include "world/external/generic_alias.h"
#include "world/external/known_types.h"
#include "world/external/mapping_proxy.h"
#include "world/external/pin.h"
#include "world/external/tuple_fields.h"
#include "world/external/types.h"
#include "world/native/native_objects.h"
#include "world/native/special_methods.h"
#include "world/proxies/dynamic_float.h"
#include "world/proxies/fake_array.h"
#include "world/proxies/wrapper_tensors.h"
#include "world/torch/tensor_classes.h"

namespace minidynamo {
namespace {

constexpr Py_ssize_t kLargestContainer = 50'000;  // elements; larger ones are not taken apart

// Such a match asks the bytearray for its bytes when it is asked for them.
bool is_match_in_bytearray(PyObject* match) {
  Ref searched = native_attribute(match, "string");
  if (!searched) clear_error();
  return searched && PyByteArray_Check(searched.get());
}

// True if instances of a class from before the trace have a finalizer, guarded.
bool has_observable_finalizer(Tracer& tracer, PyTypeObject* type) {
  if (!is_python_class(type)) return false;
  if (class_attribute(type, "__del__"_name)) return true;
  tracer.guards.add_missing(source_or_pin(tracer, as_object(type)), Access::ClassAttribute, "__del__"_name, -1,
                            tracer.origin());
  return false;
}

// An in-trace object stands for a source's value.
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

// The fake of an external tensor; `sizes` are the symbols that some of its sizes are.
Ref make_fake_with_symbols(Tracer& tracer, Source* source, std::vector<Expression>& sizes) {
  PyObject* raw = source->value.get();
  const OpenDimensions open = tracer.symbols.dimensions_of(*source);
  if (!open) return make_fake(raw);
  source->open_sizes = open;
  for (int d = 0; d < 64; ++d)
    if (open >> d & 1) sizes.push_back(tracer.symbols.symbol_for(source, d, size_of_tensor(raw, d)));
  return make_symbolic_fake(raw, open, sizes);
}

// With all that it holds.
Ref enter_filled(Tracer& tracer, Source* source) {
  Ref entered = enter(tracer, source);
  return entered && materialize_if_shadow(tracer, entered.get()) ? entered : Ref();
}

Ref enter_tensor(Tracer& tracer, Source* source) {
  PyObject* raw = source->value.get();
  if (is_transform_wrapper(raw)) return enter_opaque(tracer, source);  // its transform is over
  if (is_fake(raw)) return tracer.abort(BreakReason::FakeInput, "an input is a fake tensor of another trace");
  std::vector<Expression> sizes;
  const bool is_loud = !is_class_of_graphs(Py_TYPE(raw)) && has_observable_finalizer(tracer, Py_TYPE(raw));
  Ref fake;
  if (is_wrapper(raw))
    fake = is_loud ? Ref() : make_wrapper_fake(tracer, source, enter_filled);
  else
    fake = is_loud ? Ref() : make_fake_with_symbols(tracer, source, sizes);
  if (tracer.is_over()) return nullptr;
  if (!fake) {
    clear_error();
    return enter_opaque(tracer, source);
  }
  tracer.guards.add(source, GuardKind::Tensor, tracer.origin());
  tracer.graph.add_placeholder(source->to_text(), fake);
  for (const Expression size : sizes) tracer.symbols.read_from(size, fake);
  tracer.world.add_fake(fake.get());
  if (!tracer.views_from_before.take_in(raw, fake.get()))
    return tracer.abort(BreakReason::HistoryOfViews, "another view of an input's memory has been written to");
  return stands_for(tracer, source, std::move(fake));
}

// Its elements are an input of the graph.
Ref enter_array(Tracer& tracer, Source* source) {
  const Ref real = tensor_over_array(source->value.get());
  const Ref fake = real ? make_fake(real.get()) : Ref();
  Ref twin = fake ? twin_of_fake(fake.get()) : Ref();
  if (!twin) {
    clear_error();
    return enter_opaque(tracer, source);
  }
  tracer.guards.add(source, GuardKind::ExactType, tracer.origin());
  Source* elements = tracer.guards.child(source, Access::ArrayElements, nullptr, -1, real.get());
  tracer.guards.add(elements, GuardKind::Tensor, tracer.origin());
  tracer.graph.add_placeholder(elements->to_text(), fake);
  tracer.world.add_fake(fake.get());
  (void)stands_for(tracer, elements, fake);
  return stands_for(tracer, source, make_fake_array(tracer, fake.get(), std::move(twin)));
}

// An attribute of a holder that must be the same at the next call.
void guard_part(Tracer& tracer, Source* source, const char* name, GuardKind kind) {
  Ref key = Ref::made(PyUnicode_InternFromString(name));
  Ref part = native_attribute(source->value.get(), key.get());
  if (part)
    tracer.guards.add(tracer.guards.child(source, Access::Attribute, key.get(), -1, part.get()), kind, tracer.origin());
  clear_error();
}

// An object that only holds another one (a bound C method, a super object, a view of a dict) is made anew around the
// in-trace form of that. `make` gets the in-trace form of the one object.
Ref enter_holder(Tracer& tracer, Source* source, const char* held_name, const std::function<Ref(PyObject*)>& make) {
  PyObject* raw = source->value.get();
  tracer.guards.add(source, GuardKind::ExactType, tracer.origin());
  Ref name = Ref::made(PyUnicode_InternFromString(held_name));
  Ref held = native_attribute(raw, name.get());
  Ref entered = held ? load_part(tracer, source, Access::Attribute, name.get(), held.get()) : Ref();
  if (!entered) return nullptr;
  Ref made = tracer.world.is_opaque(entered.get()) || !materialize_if_shadow(tracer, entered.get())
                 ? Ref()
                 : make(entered.get());
  if (tracer.is_over()) return nullptr;
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
    return Ref::steal(Py_TYPE(descriptor)->tp_descr_get(descriptor, self, as_object(Py_TYPE(self))));
  });
}

Ref enter_super(Tracer& tracer, Source* source) {
  Ref after = native_attribute(source->value.get(), "__thisclass__");
  guard_part(tracer, source, "__thisclass__", GuardKind::Identity);
  return enter_holder(tracer, source, "__self__", [&](PyObject* self) {
    return Ref::steal(PyObject_CallFunctionObjArgs(as_object(&PySuper_Type), after.get(), self, nullptr));
  });
}

Ref enter_tuple(Tracer& tracer, Source* source) {
  PyObject* raw = source->value.get();
  PyTypeObject* type = Py_TYPE(raw);
  if (type == &PyTuple_Type && is_constant(raw) && !tracer.symbols.has_dynamic_items(*source)) {
    tracer.guards.add(source, GuardKind::Constant, tracer.origin());
    return Ref::borrow(raw);
  }
  const Py_ssize_t count = field_count(raw);
  if (count < 0 || has_observable_finalizer(tracer, type)) return enter_opaque(tracer, source);
  tracer.guards.add(source, GuardKind::ExactType, tracer.origin());
  tracer.guards.add(source, GuardKind::Length, tracer.origin());
  Ref items = Ref::made(PyTuple_New(count));
  bool unchanged = true;
  for (Py_ssize_t i = 0; i < count; ++i) {
    const TupleField field = tuple_field(raw, i);
    Ref item = load_part(tracer, source, field.access, field.name.get(), field.value, field.index);
    if (!item || !materialize_if_shadow(tracer, item.get())) return nullptr;
    unchanged &= item.get() == field.value;
    PyTuple_SET_ITEM(items.get(), i, item.release());
  }
  if (unchanged) {
    tracer.world.know(raw, source);
    return Ref::borrow(raw);
  }
  if (is_struct_sequence_type(type)) {
    items = make_struct_sequence(type, items.get());
  } else if (type != &PyTuple_Type) {
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
  if (has_observable_finalizer(tracer, type)) return enter_opaque(tracer, source);
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
  ShadowContainer& shadow = tracer.world.add_shadow(Ref::borrow(raw), object, source);
  if (type != &PyList_Type && type != &PyDict_Type && !fill(tracer, shadow)) return nullptr;
  return object;
}

// An int of which the trace is not to know the value.
Ref enter_symbolic_int(Tracer& tracer, Source* source) {
  const Expression e = tracer.symbols.symbol_for(source, -1, PyLong_AsLongLong(source->value.get()));
  Ref number = tracer.symbols.object(e);
  if (!number || tracer.graph.producer(number.get()) != kNoNode) return number;
  tracer.guards.add(source, GuardKind::Integer, tracer.origin());
  tracer.graph.add_placeholder(source->to_text(), number);
  tracer.symbols.read_from(e, number);
  return number;
}

// Guards that a source leads to the same object as another one, `known`.
void guard_same(Tracer& tracer, Source* source, Source* known) {
  if (known == source) return;
  if (is_guarded_by_identity(source->value.get()) || known->access == Access::Pinned)
    tracer.guards.add(source, GuardKind::Identity, tracer.origin());
  else
    tracer.guards.add_relation(source, GuardKind::SameAs, known, tracer.origin());
}

// Guards which NaNs of a call are one object, since containers take each for equal to itself only. Returns the first
// source that leads to this one.
Source* told_from_other_nans(Tracer& tracer, Source* source) {
  if (Source* known = tracer.world.source_of(source->value.get())) {
    guard_same(tracer, source, known);
    return known;
  }
  tracer.world.know(source->value.get(), source);
  tracer.world.require_distinct(source);
  return source;
}

Ref enter_by_value(Tracer& tracer, Source* source) {
  tracer.guards.add(source, GuardKind::Constant, tracer.origin());
  return source->value;
}

// Stands for itself.
Ref enter_itself(Tracer& tracer, Source* source, GuardKind kind) {
  tracer.guards.add(source, kind, tracer.origin());
  tracer.world.know(source->value.get(), source);
  return source->value;
}

// Its methods ask its time zone, which is Python code, or C code that nothing is known of, and has a state of its own.
Ref enter_date_with_zone(Tracer& tracer, Source* source) {
  Ref date = enter_itself(tracer, source, GuardKind::Identity);
  const Ref zone = zone_with_state(date.get());
  return load_part(tracer, source, Access::Attribute, "tzinfo"_name, zone.get()) ? std::move(date) : Ref();
}

// list[int], int | str: made anew wherever they are written, so known by what they are made of. False: by identity.
bool guard_parts_of_alias(Tracer& tracer, Source* source) {
  for (const char* name : {"__origin__", "__args__"}) {
    Ref key = Ref::made(PyUnicode_InternFromString(name));
    Ref part = native_attribute(source->value.get(), key.get());
    if (!part) clear_error();  // a union has no origin
    if (!part) continue;
    Ref entered = load_part(tracer, source, Access::Attribute, key.get(), part.get());
    if (!entered.is(part.get())) return false;
  }
  return true;
}

Ref enter_alias(Tracer& tracer, Source* source) {
  const bool is_of_parts = guard_parts_of_alias(tracer, source);
  if (tracer.is_over()) return nullptr;
  (void)enter_itself(tracer, source, is_of_parts ? GuardKind::ExactType : GuardKind::Identity);
  pin_parts(tracer, source->value.get());
  return source->value;
}

// torch.finfo and torch.iinfo: all that they tell follows from this.
Ref enter_number_format(Tracer& tracer, Source* source) {
  guard_part(tracer, source, "dtype", GuardKind::Constant);
  return enter_itself(tracer, source, GuardKind::ExactType);
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

// A bound method kept somewhere: made anew from its parts.
Ref enter_method(Tracer& tracer, Source* source) {
  PyObject* raw = source->value.get();
  tracer.guards.add(source, GuardKind::ExactType, tracer.origin());
  Ref function = load_part(tracer, source, Access::Attribute, "__func__"_name, PyMethod_GET_FUNCTION(raw));
  Ref self = load_part(tracer, source, Access::Attribute, "__self__"_name, PyMethod_GET_SELF(raw));
  if (!function || !self) return nullptr;
  Ref bound = Ref::made(PyMethod_New(function.get(), self.get()));
  return stands_for(tracer, source, std::move(bound));
}

// A special method of a Python class that is bound to something, which native code would be given unseen.
bool has_unknown_special_method(PyTypeObject* type) { return is_python_class(type) && has_bound_special_method(type); }

// The names of a module whose function runs: read and written as such.
bool is_namespace_in_use(const Tracer& tracer, PyObject* dict) {
  for (const Frame* frame = tracer.frame; frame; frame = frame->caller)
    if (frame->globals.is(dict)) return true;
  return false;
}

Ref enter_proxy(Tracer& tracer, Source* source) {
  PyObject* mapping = proxied_mapping(source->value.get());
  if (!PyDict_Check(mapping)) return enter_opaque(tracer, source);
  tracer.guards.add(source, GuardKind::ExactType, tracer.origin());
  Ref dict = load_part(tracer, source, Access::Proxied, nullptr, mapping);
  Ref proxy = dict ? proxy_over(tracer, dict.get()) : Ref();
  return proxy ? stands_for(tracer, source, std::move(proxy)) : Ref();
}

// The same view of what stands for the dict.
Ref enter_dict_view(Tracer& tracer, Source* source) {
  PyObject* raw = source->value.get();
  tracer.guards.add(source, GuardKind::ExactType, tracer.origin());
  Ref proxy = native_attribute(raw, "mapping"_name);
  if (!proxy) return nullptr;
  Source* held = tracer.guards.child(source, Access::Attribute, "mapping"_name, -1, proxy.get());
  Ref dict = load_part(tracer, held, Access::Proxied, nullptr, proxied_mapping(proxy.get()));
  if (!dict || !materialize_if_shadow(tracer, dict.get())) return nullptr;
  if (tracer.world.is_opaque(dict.get()) || !PyDict_Check(dict.get())) return enter_opaque(tracer, source);
  return stands_for(tracer, source, Ref::made(PyObject_CallOneArg(view_method(Py_TYPE(raw)).get(), dict.get())));
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
  const Py_ssize_t asked = asked_parts(raw, arguments);
  Ref entered = Ref::made(PyTuple_New(asked));
  for (Py_ssize_t i = 0; i < asked; ++i) {
    Ref item = load_part(tracer, source, Access::IteratorPart, nullptr, PyTuple_GET_ITEM(arguments, i),
                         static_cast<int32_t>(i));
    if (!item) return nullptr;
    if (is_outside_iterator(item.get())) becomes_part(item.get());
    PyTuple_SET_ITEM(entered.get(), i, item.release());
  }
  // A zip or map of the same iterators and others is another one.
  if (asked == PyTuple_GET_SIZE(arguments))
    tracer.guards.add_missing(source, Access::IteratorPart, nullptr, static_cast<int32_t>(asked), tracer.origin());
  Ref object = make_external_iterator(tracer, source, std::move(entered), enter_filled);
  return object ? stands_for(tracer, source, std::move(object)) : Ref();
}

// A tensor that is a key of a dict. As a dict hashes and compares it, it is that very tensor; its fake has the same
// hash in the trace (library/python/builtins.cpp: builtin_id).
Ref enter_tensor_key(Tracer& tracer, PyObject* key) {
  PyObject* known = tracer.world.replacement_of(key);
  Ref fake = known ? Ref::borrow(known) : enter(tracer, tracer.guards.pinned(key, Py_TYPE(key)->tp_name));
  if (!fake) return nullptr;
  if (!is_fake(fake.get()))
    return tracer.abort(BreakReason::UnsupportedTensor, std::string("a ") + Py_TYPE(key)->tp_name + " is a key");
  Source* source = tracer.world.source_of(fake.get());
  if (source->access != Access::Pinned) tracer.guards.add(source, GuardKind::Identity, tracer.origin());
  tracer.world.pins(Py_TYPE(key));
  return fake;
}

// The other object whose __dict__ a source leads to, if the trace has written to attributes of that object.
PyObject* other_owner(Tracer& tracer, const Source* source) {
  PyObject* owner = tracer.effects.writer_of(source->value.get());
  const bool is_its_own =
      owner && source->access == Access::InstanceDict && source->parent == tracer.world.source_of(owner);
  return is_its_own ? nullptr : owner;
}

}  // namespace

Ref enter(Tracer& tracer, Source* source) {
  PyObject* raw = source->value.get();
  PyTypeObject* type = Py_TYPE(raw);
  if (is_constant_type(type)) {
    if (tracer.symbols.makes_int_dynamic(*source)) return enter_symbolic_int(tracer, source);
    Source* number = is_nan(raw) ? told_from_other_nans(tracer, source) : source;
    return changes(tracer, number) ? enter_dynamic_float(tracer, number) : enter_by_value(tracer, number);
  }
  if (Source* known = tracer.world.source_of(raw)) {  // stands for itself
    guard_same(tracer, source, known);
    return Ref::borrow(raw);
  }
  if (PyObject* replaced = tracer.world.replacement_of(raw)) {
    guard_same(tracer, source, tracer.world.source_of(replaced));
    return Ref::borrow(replaced);
  }
  if (is_tensor(raw)) return enter_tensor(tracer, source);
  NestingLevel level;
  if (level.is_too_deep())
    return tracer.abort(BreakReason::ContainerTooLarge, source->to_text().substr(0, 200) + "... is nested too deep");
  const WrapRule way = wrap_rule_of(type);
  if (way != WrapRule::Tuple && is_guarded_by_identity(raw)) return enter_itself(tracer, source, GuardKind::Identity);
  auto itself = [&](GuardKind kind) {
    return has_unknown_special_method(type) ? enter_opaque(tracer, source) : enter_itself(tracer, source, kind);
  };
  switch (way) {
    case WrapRule::Constant:
      return enter_by_value(tracer, source);
    case WrapRule::Date:
      if (!is_date(raw)) return enter_date_with_zone(tracer, source);
      return enter_itself(tracer, source, GuardKind::Constant);  // as a result it is that very object
    case WrapRule::ConstantOrOpaque:
      if (is_constant(raw)) return enter_by_value(tracer, source);
      if (PyFrozenSet_CheckExact(raw) && is_set_of_named(raw)) return enter_set_of_named(tracer, source);
      return enter_opaque(tracer, source);
    case WrapRule::Tuple:
      return enter_tuple(tracer, source);
    case WrapRule::Container:
      if (PyObject* owner = other_owner(tracer, source))
        return load_own_dict(tracer, owner) ? enter(tracer, source) : Ref();
      return is_namespace_in_use(tracer, raw) ? enter_opaque(tracer, source) : enter_container(tracer, source);
    case WrapRule::ByteArray:
      return is_exported(raw) ? enter_opaque(tracer, source) : enter_container(tracer, source);
    case WrapRule::Proxy:
      return enter_proxy(tracer, source);
    case WrapRule::Iterator:
      return can_follow_iterator(raw) ? enter_iterator(tracer, source) : enter_opaque(tracer, source);
    case WrapRule::Method:
      return enter_method(tracer, source);
    case WrapRule::NativeMethod:
      return descriptor_behind(raw) ? enter_bound_native(tracer, source) : enter_opaque(tracer, source);
    case WrapRule::Super:
      return enter_super(tracer, source);
    case WrapRule::NumpyArray:
      return enter_array(tracer, source);
    case WrapRule::Opaque:
      return is_native_enum(raw) ? enter_itself(tracer, source, GuardKind::Identity) : enter_opaque(tracer, source);
    case WrapRule::Match:
      if (is_match_in_bytearray(raw)) return enter_opaque(tracer, source);
      return enter_itself(tracer, source, GuardKind::Identity);
    case WrapRule::Function:
      return enter_itself(tracer, source, GuardKind::ExactType);
    case WrapRule::Definition:
      return enter_itself(tracer, source, GuardKind::Identity);
    case WrapRule::Alias:
      if (has_unknown_special_method(type)) return enter_opaque(tracer, source);
      return enter_alias(tracer, source);
    case WrapRule::NumberFormat:
      return enter_number_format(tracer, source);
    case WrapRule::View:
      return enter_dict_view(tracer, source);
    case WrapRule::Identity:
      return itself(GuardKind::Identity);
    case WrapRule::Value:
      tracer.guards.add(source, GuardKind::ExactType, tracer.origin());
      return itself(GuardKind::Value);
    case WrapRule::Instance:
      return itself(GuardKind::ExactType);
  }
  return nullptr;
}

namespace {

// The elements of a list that is not filled: the trace has put them to the end.
std::vector<Ref> take_additions(ShadowContainer& shadow) {
  PyObject* list = shadow.object.get();
  if (!PyList_Check(list) || !PyList_GET_SIZE(list)) return {};
  std::vector<Ref> added = elements_of(list);
  PyList_SetSlice(list, 0, PyList_GET_SIZE(list), nullptr);
  return added;
}

}  // namespace

Ref load_own_dict(Tracer& tracer, PyObject* object) {
  Source* owner = tracer.world.source_of(object);
  PyObject* raw = owner->value.get();
  PyObject* dict = Ref::steal(PyObject_GenericGetDict(raw, nullptr)).get();  // the object has it from then on
  if (!dict) return nullptr;
  // A function's is read as an attribute.
  if (Source* as_attribute = tracer.guards.find(owner, Access::Attribute, "__dict__"_name, -1))
    return enter(tracer, as_attribute);
  Source* source = tracer.guards.child(owner, Access::InstanceDict, nullptr, -1, dict);
  if (!source->value.is(dict)) {
    if (!source->inline_attributes)
      return tracer.abort(BreakReason::InstanceDict,
                          "__dict__ of an object whose attributes were read before it had one");
    source->value = Ref::borrow(dict);  // it has one now, with the attributes that were read
    source->inline_attributes = false;
  }
  if (tracer.effects.has_writes(object)) tracer.effects.note_writer(dict, object);
  return enter(tracer, source);
}

namespace {

// Puts the attributes that the trace has written into the __dict__ that they belong to.
bool take_in_attributes(Tracer& tracer, ShadowContainer& shadow, PyObject* owner) {
  PyObject* dict = shadow.object.get();
  const auto put = [&](const std::vector<AttributeWrite>& writes) {
    for (const AttributeWrite& write : writes) {
      PyObject* name = write.name.get();
      if (is_slot_of(owner, name)) {
        tracer.effects.write(owner, name, write.value.get());
        continue;
      }
      if (write.value && !materialize_if_shadow(tracer, write.value.get())) return false;
      if (!write.value && PyDict_Contains(dict, name) == 0) continue;  // set and deleted again
      if ((write.value ? PyDict_SetItem(dict, name, write.value.get()) : PyDict_DelItem(dict, name)) < 0) return false;
    }
    return true;
  };
  const EffectLog::TakenWrites written = tracer.effects.take_writes(owner);
  if (!put(written.logged)) return false;
  if (!written.logged.empty()) accept_changes(shadow);
  return put(written.removed);
}

}  // namespace

namespace {

bool take_in_elements(Tracer& tracer, ShadowContainer& shadow) {
  shadow.filled = true;  // first: a container may hold itself
  NestingLevel level;
  if (level.is_too_deep())
    return tracer.abort(BreakReason::ContainerTooLarge, "containers are nested too deep") != nullptr;
  PyObject* original = shadow.original.get();
  PyObject* object = shadow.object.get();
  PyTypeObject* base = container_base(Py_TYPE(original));
  if (native_size(original) > kLargestContainer)
    return tracer.abort(BreakReason::ContainerTooLarge, shadow.source->to_text() + " has too many elements") != nullptr;
  auto entered = [&](Access access, PyObject* key, Py_ssize_t index, PyObject* value) {
    Ref item = load_part(tracer, shadow.source, access, key, value, static_cast<int32_t>(index));
    if (item && !materialize_if_shadow(tracer, item.get())) item.reset();
    const bool specializes = tracer.symbols.specializes_reads || base == known_types()->deque;
    if (item && specializes && tracer.symbols.active() && is_symbolic_int(item.get()))
      item = tracer.symbols.specialized(item.get());
    return item;
  };
  if (base == &PyList_Type || base == known_types()->deque) {
    tracer.guards.add(shadow.source, GuardKind::Length, tracer.origin());
    const std::vector<PyObject*> items = native_contents(original).items;
    const std::vector<Ref> added = take_additions(shadow);
    const std::vector<Ref> logged_additions = std::exchange(shadow.snapshot, {});
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
      shadow.snapshot.push_back(std::move(item));
    }
    for (const Ref& item : added)
      if (PyList_Append(object, item.get()) < 0) return false;
    shadow.snapshot.insert(shadow.snapshot.end(), logged_additions.begin(), logged_additions.end());
    begin_snapshot(shadow);
    return true;
  }
  if (base == &PyByteArray_Type) {
    tracer.guards.add(shadow.source, GuardKind::Value, tracer.origin());
    if (PyByteArray_Resize(object, PyByteArray_GET_SIZE(original)) < 0) return false;
    std::copy_n(PyByteArray_AS_STRING(original), PyByteArray_GET_SIZE(original), PyByteArray_AS_STRING(object));
    shadow.snapshot = elements_of(object);
    return true;
  }
  if (base == &PySet_Type) {
    tracer.guards.add(shadow.source, GuardKind::SetItems, tracer.origin());
    Py_ssize_t position = 0;
    PyObject* item;
    Py_hash_t hash;
    while (next_in_set(original, position, item, hash)) {
      if (!is_constant(item) && !is_guarded_by_identity(item))
        return tracer.abort(BreakReason::UnsupportedObject, shadow.source->to_text() + ": a set of objects") != nullptr;
      if (!is_constant(item)) source_or_pin(tracer, item);
      shadow.snapshot.push_back(Ref::borrow(item));
    }
    return copy_set_table(object, original);
  }
  tracer.guards.add(shadow.source, GuardKind::DictKeys, tracer.origin());
  const NativeContents contents = native_contents(original);
  for (size_t i = 0; i < contents.hashes.size(); ++i) {
    PyObject* key = contents.items[2 * i];
    PyObject* value = contents.items[2 * i + 1];
    Ref shown = Ref::borrow(key);
    if (is_tensor(key)) {
      shown = enter_tensor_key(tracer, key);
      if (!shown) return false;
    } else if (!is_constant(key)) {
      // The dict's own check wants this very key: where else it is reached, it must be that object too.
      Source* known = source_or_pin(tracer, key);
      if (known->access != Access::Pinned) tracer.guards.add(known, GuardKind::Identity, tracer.origin());
      if (!is_guarded_by_identity(key)) tracer.world.pins(Py_TYPE(key));
    }
    if (!is_constant(key)) {
      // No guard may look for a key past another of the same hash whose __eq__ is the program's.
      uint32_t hint = 0;
      PyObject* raw = nullptr;
      if (::minidynamo::dict_item(original, key, contents.hashes[i], hint, raw) == Lookup::Undecided)
        return tracer.abort(BreakReason::UnsupportedObject,
                            shadow.source->to_text() + ": a key is compared by a Python method") != nullptr;
    }
    const bool keeps_order = base == known_types()->ordered_dict;  // it asks the key for its hash
    if (keeps_order && !compares_natively(key))
      return tracer.abort(BreakReason::UnsupportedObject,
                          shadow.source->to_text() + ": an OrderedDict whose keys have Python methods") != nullptr;
    Ref item = entered(Access::DictItem, key, -1, value);
    if (!item) return false;
    const int status = keeps_order ? base->tp_as_mapping->mp_ass_subscript(object, key, item.get())
                                   : set_item_with_hash(object, shown.get(), item.get(), contents.hashes[i]);
    if (status < 0) return false;
    shadow.snapshot.push_back(std::move(shown));
    shadow.snapshot.push_back(std::move(item));
  }
  shadow.version = dict_version(object);
  PyObject* owner = tracer.effects.writer_of(original);
  return !owner || take_in_attributes(tracer, shadow, owner);
}

}  // namespace

bool fill(Tracer& tracer, ShadowContainer& shadow) {
  if (!take_in_elements(tracer, shadow)) return false;
  if (PyByteArray_Check(shadow.object.get())) return true;
  const std::vector<PyObject*> before = native_contents(shadow.original.get()).items;
  if (std::ranges::all_of(before, ends_unseen)) return true;
  shadow.entered = elements_of(shadow.object.get());
  shadow.entered.resize(std::min(shadow.entered.size(), before.size()));
  tracer.world.note_use(shadow);
  return true;
}

Ref load_part(Tracer& tracer, Source* owner, Access access, PyObject* key, PyObject* raw, int32_t index) {
  if (raw) return enter(tracer, tracer.guards.child(owner, access, key, index, raw));
  tracer.guards.add_missing(owner, access, key, index, tracer.origin());
  return nullptr;
}

}  // namespace minidynamo
