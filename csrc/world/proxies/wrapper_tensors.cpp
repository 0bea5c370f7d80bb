#include "world/proxies/wrapper_tensors.h"

#include <structmember.h>

#include <algorithm>
#include <optional>

#include "python/interned.h"
#include "python/native_scope.h"
#include "python/objects/native_contents.h"
#include "python/process/nesting.h"
#include "python/process/out_of_memory.h"
#include "python/version/dict_version.h"
#include "python/version/type_version.h"
#include "tensor/fake/fake.h"
#include "tensor/fake/tensor_facts.h"
#include "tensor/fake/wrapper_fake.h"
#include "tensor/process/override_probe.h"
#include "world/external/known_types.h"
#include "world/external/pin.h"
#include "world/external/types.h"

namespace minidynamo {
namespace {

// The parts of a wrapper, as the wrapper itself lists them.
struct Parts {
  std::vector<Ref> names;  // the attributes that are tensors
  Ref context;             // all else that it takes to put it together again
};

std::optional<Parts> take_apart(PyObject* wrapper) {
  const NativeScope native;
  const SubclassesMuted not_asked;
  const Ref both = Ref::steal(PyObject_CallMethodNoArgs(wrapper, "__tensor_flatten__"_name));
  Parts parts;
  const bool is_pair = both && PyTuple_Check(both.get()) && PyTuple_GET_SIZE(both.get()) == 2;
  const Ref names = is_pair ? Ref::steal(PySequence_Tuple(PyTuple_GET_ITEM(both.get(), 0))) : Ref();
  if (!names) return clear_error(), std::nullopt;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names.get()); ++i) {
    PyObject* one = PyTuple_GET_ITEM(names.get(), i);
    if (!PyUnicode_CheckExact(one)) return std::nullopt;
    parts.names.push_back(as_interned(one));
  }
  parts.context = Ref::borrow(PyTuple_GET_ITEM(both.get(), 1));
  return parts;
}

// The dict of an object's own attributes, which is made if it does not exist yet: a compiler of the object may ask for
// it.
Source* attributes_of(Tracer& tracer, Source* source) {
  const Ref dict = Ref::made(PyObject_GenericGetDict(source->value.get(), nullptr));
  return tracer.guards.child(source, Access::InstanceDict, nullptr, -1, dict.get());
}

// An attribute of the object's own, in its dict or in a slot.
Ref own_attribute(PyObject* object, PyObject* name) {
  if (has_instance_dict(Py_TYPE(object)))
    if (PyObject* value = instance_attribute(object, name)) return Ref::borrow(value);
  PyObject* slot = class_attribute(Py_TYPE(object), name);
  if (!slot || !Py_IS_TYPE(slot, &PyMemberDescr_Type)) return nullptr;
  Ref value = Ref::steal(PyObject_GenericGetAttr(object, name));
  clear_error();
  return value;
}

// Guards all that native code may read of an object from before the call, however deep, but for tensors.
class DeepGuard {
 public:
  DeepGuard(Tracer& tracer, Ref (*enter)(Tracer&, Source*)) : tracer_(tracer), enter_(enter) {}

  // False: there is something of which that cannot be told.
  bool covers(PyObject* entered) {
    if (tracer_.is_over() || !entered || --left_ < 0) return false;
    if (is_constant(entered)) return true;
    NestingLevel level;
    if (level.is_too_deep()) return false;
    if (std::ranges::find(seen_, entered) != seen_.end()) return true;
    seen_.push_back(entered);
    if (is_tensor(entered)) return false;
    if (tracer_.world.shadow(entered)) return cover_items(entered);
    if (PyTuple_Check(entered)) return cover_items(entered);
    Source* source = tracer_.world.source_of(entered);
    if (!source || is_guarded_by_identity(entered)) return source != nullptr;
    if (!tracer_.world.is_opaque(entered) && is_python_class(Py_TYPE(entered)) && cover_attributes(source)) return true;
    return !tracer_.is_over() && is_a_value(source);
  }

  bool cover_attributes(Source* source, std::span<const Ref> but = {}) {
    PyObject* object = source->value.get();
    if (has_instance_dict(Py_TYPE(object))) {
      Source* own = attributes_of(tracer_, source);
      tracer_.guards.add(own, GuardKind::DictKeys, tracer_.origin());
      const std::vector<PyObject*> items = native_contents(own->value.get()).items;
      for (size_t i = 0; i < items.size(); i += 2) {
        const Ref name = Ref::borrow(items[i]), value = Ref::borrow(items[i + 1]);
        if (!PyUnicode_CheckExact(name.get())) return false;
        if (is_one_of(but, name.get())) continue;
        const Ref entered = enter_(tracer_, tracer_.guards.child(own, Access::DictItem, name.get(), -1, value.get()));
        if (!covers(entered.get())) return false;
      }
    }
    return cover_slots(source, but);
  }

 private:
  Tracer& tracer_;
  Ref (*enter_)(Tracer&, Source*);
  std::vector<PyObject*> seen_;
  int left_ = 512;  // objects to look at

  static bool is_one_of(std::span<const Ref> names, PyObject* name) {
    return std::ranges::any_of(names, [&](const Ref& one) { return PyUnicode_Compare(one.get(), name) == 0; });
  }

  bool cover_items(PyObject* container) {
    for (PyObject* item : native_contents(container).items)
      if (!covers(item)) return false;
    return true;
  }

  bool cover_slots(Source* source, std::span<const Ref> but) {
    PyObject* mro = Py_TYPE(source->value.get())->tp_mro;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(mro); ++i) {
      auto* type = as_type(PyTuple_GET_ITEM(mro, i));
      if (!is_python_class(type)) break;
      for (const PyMemberDef* slot = type->tp_members; slot && slot->name; ++slot) {
        const Ref name = Ref::made(PyUnicode_InternFromString(slot->name));
        if (is_one_of(but, name.get()) || std::string_view(slot->name).starts_with("__")) continue;
        const Ref value = own_attribute(source->value.get(), name.get());
        if (!value) return false;
        const Ref entered =
            enter_(tracer_, tracer_.guards.child(source, Access::Attribute, name.get(), -1, value.get()));
        if (!covers(entered.get())) return false;
      }
    }
    return true;
  }

  // Its class compares it by what it is: such objects are not changed, so that the same one is as it was.
  bool is_a_value(Source* source) {
    PyTypeObject* type = Py_TYPE(source->value.get());
    PyObject *equal = class_attribute(type, "__eq__"_name), *hash = class_attribute(type, "__hash__"_name);
    if (!equal || !PyFunction_Check(equal) || !hash || !PyFunction_Check(hash)) return false;
    tracer_.guards.add(source, GuardKind::Identity, tracer_.origin());
    return true;
  }
};

}  // namespace

void guard_wrapper_class(Tracer& tracer, PyTypeObject* type) {
  Source* source = source_or_pin(tracer, as_object(type));
  for (const char* name : {"__torch_dispatch__", "__tensor_flatten__", "__tensor_unflatten__"}) {
    const Ref key = Ref::made(PyUnicode_InternFromString(name));
    PyObject* found = class_attribute(type, key.get());
    Source* method = tracer.guards.child(source, Access::ClassAttribute, key.get(), -1, found);
    tracer.guards.add(method, GuardKind::Identity, tracer.origin());
  }
}

namespace {

Ref put_together(PyObject* real, PyObject* tensors, PyObject* context) {
  const NativeScope native;
  const SubclassesMuted not_asked;
  PyObject* type = as_object(Py_TYPE(real));
  const Ref size = Ref::steal(PyObject_CallMethod(real, "size", nullptr));
  const Ref stride = size ? Ref::steal(PyObject_CallMethod(real, "stride", nullptr)) : Ref();
  Ref fake = stride ? Ref::steal(PyObject_CallMethodObjArgs(type, "__tensor_unflatten__"_name, tensors, context,
                                                            size.get(), stride.get(), nullptr))
                    : Ref();
  const bool is_it = fake && Py_IS_TYPE(fake.get(), Py_TYPE(real)) && is_wrapper(fake.get());
  if (is_it && have_same_layout(fake.get(), real)) fake = with_history_of(fake.get(), real);
  clear_error();
  return is_it && fake && have_same_layout(fake.get(), real) ? fake : Ref();
}

bool holds_fakes_alone(PyObject* wrapper) {
  const std::optional<Parts> parts = take_apart(wrapper);
  if (!parts) return false;
  return std::ranges::all_of(parts->names, [&](const Ref& name) {
    const Ref part = own_attribute(wrapper, name.get());
    if (part && is_wrapper(part.get()) && !is_fake(part.get())) note_wrappers(part.get());
    return part && is_fake(part.get());
  });
}

}  // namespace

Ref make_wrapper_fake(Tracer& tracer, Source* source, Ref (*enter)(Tracer&, Source*)) {
  PyObject* raw = source->value.get();
  if (tracer.limits.below_autograd || tracer.transforms.records_operators()) return nullptr;
  const std::optional<Parts> parts = take_apart(raw);
  if (!parts) return nullptr;
  tracer.guards.add(source, GuardKind::Tensor, tracer.origin());
  const Ref tensors = Ref::made(PyDict_New());
  for (const Ref& name : parts->names) {
    const Ref part = own_attribute(raw, name.get());
    if (!part || !is_tensor(part.get())) return nullptr;
    const bool is_in_dict = has_instance_dict(Py_TYPE(raw)) && instance_attribute(raw, name.get());
    Source* owner = is_in_dict ? attributes_of(tracer, source) : source;
    const Access access = is_in_dict ? Access::DictItem : Access::Attribute;
    const Ref fake = enter(tracer, tracer.guards.child(owner, access, name.get(), -1, part.get()));
    if (!fake || !is_fake(fake.get()) || PyDict_SetItem(tensors.get(), name.get(), fake.get()) < 0) return nullptr;
  }
  if (!DeepGuard(tracer, enter).cover_attributes(source, parts->names)) return nullptr;
  guard_wrapper_class(tracer, Py_TYPE(raw));
  Ref fake = put_together(raw, tensors.get(), parts->context.get());
  if (!fake) return nullptr;
  note_wrapper_of_fakes(fake.get());
  Py_ssize_t position = 0;
  PyObject *name, *part;
  while (PyDict_Next(tensors.get(), &position, &name, &part))
    if (const void* storage = storage_of_fake(part)) tracer.storages.wrapped.push_back(storage);
  return fake;
}

void note_wrappers(PyObject* result) {
  if (PyTuple_Check(result) || PyList_Check(result)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(result); ++i)
      note_wrappers(PySequence_Fast_GET_ITEM(result, i));
    return;
  }
  if (is_wrapper(result) && !is_fake(result) && holds_fakes_alone(result)) note_wrapper_of_fakes(result);
}

bool is_guarded_deep(Tracer& tracer, PyObject* entered, Ref (*enter)(Tracer&, Source*)) {
  return DeepGuard(tracer, enter).covers(entered);
}

Ref attributes_of_wrapper(PyObject* wrapper) {
  const Ref own = has_instance_dict(Py_TYPE(wrapper)) ? Ref::made(PyObject_GenericGetDict(wrapper, nullptr)) : Ref();
  Ref attributes = own ? Ref::made(PyDict_Copy(own.get())) : Ref::made(PyDict_New());
  PyObject* mro = Py_TYPE(wrapper)->tp_mro;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(mro); ++i) {
    auto* type = as_type(PyTuple_GET_ITEM(mro, i));
    if (!is_python_class(type)) break;
    for (const PyMemberDef* slot = type->tp_members; slot && slot->name; ++slot) {
      const Ref name = Ref::made(PyUnicode_InternFromString(slot->name));
      const Ref value = std::string_view(slot->name).starts_with("__") ? Ref() : own_attribute(wrapper, name.get());
      if (value && PyDict_SetItem(attributes.get(), name.get(), value.get()) < 0) throw_out_of_memory();
    }
  }
  return attributes;
}

bool is_written_in_wrapper(const Tracer& tracer) {
  return std::ranges::any_of(tracer.storages.wrapped,
                             [&](const void* storage) { return tracer.storages.written.count(storage) > 0; });
}

}  // namespace minidynamo
