// The questions of copy and pickle to an object: object.__reduce_ex__, object.__getstate__ and the __reduce__ of
// builtin containers, step by step, so that attributes and slots are those that the trace knows.
#include "library/rules/handlers.h"

#include <string>
#include <string_view>

#include "model/native/native_call.h"
#include "model/protocols/abstract.h"
#include "model/protocols/arguments.h"
#include "model/protocols/attribute.h"
#include "model/tensors/new_leaf.h"
#include "model/tensors/tensor_attribute.h"
#include "model/tensors/tensor_call.h"
#include "python/named_item.h"
#include "python/process/out_of_memory.h"
#include "python/unstable.h"
#include "python/version/type_version.h"
#include "tensor/fake/tensor_facts.h"
#include "world/external/class_lookup.h"
#include "world/external/container_reads.h"
#include "world/external/known_types.h"
#include "world/external/pin.h"
#include "world/native/native_code.h"

namespace minidynamo {

namespace {

// An attribute; null Ref without a Python error if there is none.
Ref attribute_if_any(Tracer& tracer, PyObject* object, PyObject* name) {
  Ref value = load_attribute(tracer, object, name);
  if (!value && !tracer.is_over() && PyErr_ExceptionMatches(PyExc_AttributeError)) clear_error();
  return value;
}

// A private name as the compiler writes it inside the class.
Ref mangled(PyObject* name, PyTypeObject* owner) {
  const std::string_view text = PyUnicode_AsUTF8(name);
  if (!text.starts_with("__") || text.ends_with("__")) return Ref::borrow(name);
  std::string_view class_name = owner->tp_name;
  while (class_name.starts_with('_')) class_name.remove_prefix(1);
  if (class_name.empty()) return Ref::borrow(name);
  return Ref::made(PyUnicode_FromFormat("_%s%U", std::string(class_name).c_str(), name));
}

// The names of the slots that a class and its bases declare, as copyreg lists them; it keeps its list in the class,
// which a trace does not do. A tuple: asking for the slots may run code that changes such a list.
Ref slot_names(Tracer& tracer, PyTypeObject* type) {
  PyObject* known = PyDict_GetItemWithError(namespace_of(type), "__slotnames__"_name);
  if (known && PyList_CheckExact(known)) return Ref::steal(PyList_AsTuple(known));
  Ref names = Ref::made(PyList_New(0));
  PyObject* mro = type->tp_mro;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(mro); ++i) {
    auto* base = as_type(PyTuple_GET_ITEM(mro, i));
    Ref slots = Ref::borrow(PyDict_GetItemWithError(namespace_of(base), "__slots__"_name));
    if (!slots) continue;
    Ref declared = PyUnicode_Check(slots.get()) ? Ref::made(PyTuple_Pack(1, slots.get()))
                                                : Ref::steal(PySequence_Tuple(slots.get()));
    if (!declared) return nullptr;
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(declared.get()); ++k) {
      PyObject* name = PyTuple_GET_ITEM(declared.get(), k);
      if (!PyUnicode_Check(name))
        return tracer.abort(BreakReason::Pickling, std::string("the slots of ") + type->tp_name + " have odd names");
      if (!PyUnicode_CompareWithASCIIString(name, "__dict__") || !PyUnicode_CompareWithASCIIString(name, "__weakref__"))
        continue;
      Ref full = mangled(name, base);
      if (!full || PyList_Append(names.get(), full.get()) < 0) return nullptr;
    }
  }
  return Ref::steal(PyList_AsTuple(names.get()));
}

// True if instances are no larger than attributes, weak references and slots make them: C code keeps nothing there.
bool is_all_in_attributes(PyTypeObject* type, Py_ssize_t slots) noexcept {
  const auto pointer = static_cast<Py_ssize_t>(sizeof(PyObject*));
  Py_ssize_t size = PyBaseObject_Type.tp_basicsize + pointer * slots;
  if (type->tp_dictoffset && !PyType_HasFeature(type, Py_TPFLAGS_MANAGED_DICT)) size += pointer;
  if (type->tp_weaklistoffset) size += pointer;
  return type->tp_basicsize <= size;
}

Ref cannot_pickle(PyTypeObject* type) {
  PyErr_Format(PyExc_TypeError, "cannot pickle '%.200s' object", type->tp_name);
  return nullptr;
}

// The attributes, or None; with slots that have values, a pair of these and of what the slots hold.
// is_all: nothing else returns what this does not return.
Ref state_of(Tracer& tracer, PyObject* object, bool is_all) {
  PyTypeObject* type = Py_TYPE(object);
  if (is_all && type->tp_itemsize) return cannot_pickle(type);
  Ref names = slot_names(tracer, type);
  if (!names) return nullptr;
  if (is_all && !is_all_in_attributes(type, PyTuple_GET_SIZE(names.get()))) return cannot_pickle(type);
  Ref state = Ref::none();
  if (type->tp_dictoffset) {
    if (!class_attribute(type, "__dict__"_name))
      return tracer.abort(BreakReason::Pickling, std::string("the attributes of a ") + type->tp_name + " are copied");
    state = load_attribute_generically(tracer, object, "__dict__"_name);
    if (!state || !prepare_for_native(tracer, state.get())) return nullptr;
    if (PyDict_GET_SIZE(state.get()) == 0) state = Ref::none();
  }
  Ref slots = Ref::made(PyDict_New());
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names.get()); ++i) {
    PyObject* name = PyTuple_GET_ITEM(names.get(), i);
    Ref value = attribute_if_any(tracer, object, name);
    if (!value && PyErr_Occurred()) return nullptr;
    if (tracer.is_over()) return nullptr;
    if (value && (!prepare_for_native(tracer, value.get()) || PyDict_SetItem(slots.get(), name, value.get()) < 0))
      return nullptr;
  }
  return PyDict_GET_SIZE(slots.get()) ? Ref::made(PyTuple_Pack(2, state.get(), slots.get())) : state;
}

bool is_of_object(PyObject* method, const char* name) {
  return method && method == named_item(namespace_of(&PyBaseObject_Type), name);
}

// The arguments that __new__ gets besides the class: a tuple, and a dict or null.
struct NewArguments {
  Ref positional, keywords;
};

bool ask_for_new_arguments(Tracer& tracer, PyObject* object, NewArguments& found) {
  Ref method = attribute_if_any(tracer, object, "__getnewargs_ex__"_name);
  const bool has_keywords = static_cast<bool>(method);
  if (!method && !PyErr_Occurred() && !tracer.is_over())
    method = attribute_if_any(tracer, object, "__getnewargs__"_name);
  if (!method) return !PyErr_Occurred() && !tracer.is_over();
  Ref given = call(tracer, method.get(), {});
  if (!given) return false;
  PyObject* positional = given.get();
  if (has_keywords) {
    const bool is_pair = PyTuple_Check(given.get()) && PyTuple_GET_SIZE(given.get()) == 2;
    positional = is_pair ? PyTuple_GET_ITEM(given.get(), 0) : Py_None;
    found.keywords = Ref::borrow(is_pair ? PyTuple_GET_ITEM(given.get(), 1) : Py_None);
  }
  const bool is_wrong = !PyTuple_Check(positional) || (has_keywords && !PyDict_Check(found.keywords.get()));
  if (is_wrong) return static_cast<bool>(tracer.abort(BreakReason::Pickling, "arguments of __new__ that are none"));
  found.positional = Ref::borrow(positional);
  return true;
}

// An iterator over the items of a list's or dict's subclass; None for others.
Ref items_iterator(Tracer& tracer, PyObject* object) {
  if (PyList_Check(object)) return iterator_of(tracer, object);
  Ref method = load_attribute(tracer, object, "items"_name);
  Ref items = method ? call(tracer, method.get(), {}) : Ref();
  return items ? iterator_of(tracer, items.get()) : Ref();
}

// copyreg.__newobj__ or __newobj_ex__, their arguments, state, items: what protocol 2 and later ask for.
Ref reduce_to_new(Tracer& tracer, PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  if (!type->tp_new) return cannot_pickle(type);
  NewArguments given;
  if (!ask_for_new_arguments(tracer, object, given)) return nullptr;
  const bool has_keywords = given.keywords && PyDict_GET_SIZE(given.keywords.get()) > 0;
  PyObject* maker = has_keywords ? "copyreg.__newobj_ex__"_imported : "copyreg.__newobj__"_imported;
  source_or_pin(tracer, maker);
  Ref class_only = Ref::made(PyTuple_Pack(1, type)), arguments;
  if (has_keywords)
    arguments = Ref::made(PyTuple_Pack(3, type, given.positional.get(), given.keywords.get()));
  else
    arguments = given.positional ? Ref::steal(PySequence_Concat(class_only.get(), given.positional.get())) : class_only;

  const bool is_list = PyList_Check(object), is_dict = PyDict_Check(object);
  Ref getstate = lookup_in_class(tracer, type, "__getstate__"_name), state;
  if (tracer.is_over()) return nullptr;
  if (is_of_object(getstate.get(), "__getstate__")) {
    state = state_of(tracer, object, !given.positional && !is_list && !is_dict);
  } else {
    Ref method = load_attribute(tracer, object, "__getstate__"_name);
    state = method ? call(tracer, method.get(), {}) : Ref();
  }
  Ref list_items = !state ? Ref() : is_list ? items_iterator(tracer, object) : Ref::none();
  Ref dict_items = !list_items ? Ref() : is_dict ? items_iterator(tracer, object) : Ref::none();
  if (!dict_items) return nullptr;
  return Ref::made(PyTuple_Pack(5, maker, arguments.get(), state.get(), list_items.get(), dict_items.get()));
}

// True for containers whose C classes have a __reduce__ of their own.
bool has_container_reduce(PyTypeObject* type) noexcept {
  return type == &PySet_Type || type == &PyFrozenSet_Type || type == &PyByteArray_Type ||
         type == known_types()->deque || type == known_types()->ordered_dict;
}

// True if another tensor over the same memory is being copied in the same go: `memo` keeps those that have been.
bool is_copied_with(PyObject* tensor, PyObject* memo) {
  const Ref key = Ref::made(PyLong_FromVoidPtr(memo)), own_key = Ref::made(PyLong_FromVoidPtr(tensor));
  PyObject* const kept = PyDict_GetItemWithError(memo, key.get());
  if (PyDict_GetItemWithError(memo, own_key.get())) return true;
  if (!kept || !PyList_CheckExact(kept)) return false;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(kept); ++i) {
    PyObject* const other = PyList_GET_ITEM(kept, i);
    if (is_fake(other) && storage_of_fake(other) == storage_of_fake(tensor)) return true;
  }
  return false;
}

// True if there is no gradient, and nothing that the program has put on it: guarded. False: or an error is set.
bool has_only_elements(Tracer& tracer, PyObject* tensor) {
  const Ref gradient = load_attribute(tracer, tensor, "grad"_name);
  if (!gradient || !gradient.is(Py_None)) return false;
  Source* source = tracer.world.source_of(tensor);
  if (!source) return !has_own_attributes(tensor);
  const Ref own = Ref::steal(PyObject_GenericGetDict(source->value.get(), nullptr));
  if (!own || !PyDict_CheckExact(own.get()) || PyDict_GET_SIZE(own.get()) || tracer.effects.has_writes(tensor))
    return clear_error(), false;
  tracer.guards.add(tracer.guards.child(source, Access::InstanceDict, nullptr, -1, own.get()), GuardKind::Length,
                    tracer.origin());
  return true;
}

bool have_same_strides(PyObject* one, PyObject* other) {
  const NativeScope native;
  const Ref a = Ref::steal(PyObject_CallMethodNoArgs(one, "stride"_name)),
            b = Ref::steal(PyObject_CallMethodNoArgs(other, "stride"_name));
  const bool same = a && b && PyObject_RichCompareBool(a.get(), b.get(), Py_EQ) == 1;
  clear_error();
  return same;
}

}  // namespace

namespace handlers {

Ref object_getstate(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (arguments.values.size() != 1 || arguments.keyword_names) return call_natively(tracer, callable, arguments);
  PyObject* object = arguments.values[0].get();
  if (is_fake(object)) return tracer.abort(BreakReason::Pickling, "a tensor is pickled");
  return state_of(tracer, object, false);
}

Ref object_reduce_ex(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  static constinit Imported old_protocols{"copyreg._reduce_ex"};
  const bool has_protocol =
      arguments.values.size() == 2 && !arguments.keyword_names && PyLong_Check(arguments.values[1].get());
  PyObject* object = arguments.values.empty() ? nullptr : arguments.values[0].get();
  if (!has_protocol || is_fake(object))
    return tracer.abort(BreakReason::Pickling, "__reduce_ex__ of this object is not known");
  PyTypeObject* type = Py_TYPE(object);
  Ref reduce = lookup_in_class(tracer, type, "__reduce__"_name);
  if (tracer.is_over()) return nullptr;
  if (reduce && PyFunction_Check(reduce.get())) return call(tracer, reduce.get(), {Ref::borrow(object)});
  if (has_container_reduce(type)) return container_reduce(tracer, callable, Arguments{arguments.values.subspan(0, 1)});
  if (!is_of_object(reduce.get(), "__reduce__"))
    return tracer.abort(BreakReason::Pickling, std::string("a ") + type->tp_name + " is copied or pickled");
  const long protocol = PyLong_AsLong(arguments.values[1].get());
  if (protocol == -1 && PyErr_Occurred()) return nullptr;
  if (protocol >= 2) return reduce_to_new(tracer, object);
  source_or_pin(tracer, old_protocols);
  return call(tracer, old_protocols, {Ref::borrow(object), arguments.values[1]});
}

// They ask copyreg for slots, which these have none of.
Ref container_reduce(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (arguments.values.empty() || arguments.keyword_names) return call_natively(tracer, callable, arguments);
  PyObject* object = arguments.values[0].get();
  const ShadowContainer* shadow = tracer.world.shadow(object);
  const bool may_have_attributes = shadow && has_attributes(tracer, *shadow);
  if (!is_static_class(Py_TYPE(object)) || may_have_attributes)
    return tracer.abort(BreakReason::Pickling, std::string("a ") + Py_TYPE(object)->tp_name + " is copied or pickled");
  if (!prepare_for_native(tracer, object)) return nullptr;
  Ref reduced;
  {
    NativeScope native;
    reduced = Ref::steal(PyObject_CallMethodNoArgs(object, "__reduce__"_name));
  }
  if (reduced && PyTuple_Check(reduced.get())) source_or_pin(tracer, PyTuple_GET_ITEM(reduced.get(), 0));
  return reduced;
}

// A plain tensor is its elements, in the same order in memory: a clone. One that shares its memory with another that is
// copied in the same go, or has more than its elements, ends the trace.
Ref tensor_deepcopy(Tracer& tracer, PyObject*, const Arguments& arguments) {
  const auto refuse = [&] { return tracer.abort(BreakReason::Pickling, "a tensor is copied with copy.deepcopy"); };
  if (arguments.values.size() != 2 || arguments.keyword_names) return refuse();
  PyObject *const tensor = arguments.values[0].get(), *const memo = arguments.values[1].get();
  if (!is_fake(tensor) || !PyDict_CheckExact(memo) || !is_plain_tensor_class(Py_TYPE(tensor)) || !is_leaf(tensor) ||
      is_copied_with(tensor, memo) || !has_only_elements(tracer, tensor))
    return tracer.is_over() || PyErr_Occurred() ? nullptr : refuse();
  Ref copy = Ref::borrow(tensor);
  const bool wants_gradient = requires_gradient(tensor);
  for (PyObject* method : {"detach"_name, "clone"_name}) {
    const Ref self = std::move(copy);
    copy = record_call(tracer, NodeKind::CallMethod, method, Arguments{std::span<const Ref>(&self, 1)});
    if (!copy) return nullptr;
  }
  if (!have_same_strides(tensor, copy.get())) return refuse();
  return !wants_gradient || require_gradient(tracer, copy.get(), true) ? copy : Ref();
}

}  // namespace handlers

}  // namespace minidynamo
