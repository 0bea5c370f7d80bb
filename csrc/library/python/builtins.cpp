#include "library/python/builtins.h"

#include "library/rules/handlers.h"

#include "guard/constants.h"
#include "library/python/abc.h"
#include "library/python/standard_library.h"
#include "model/native/native_call.h"
#include "model/native/reported_type.h"
#include "model/native/text_conventions.h"
#include "model/objects/exception_text.h"
#include "model/objects/function.h"
#include "model/objects/instance_dict.h"
#include "model/objects/instantiate.h"
#include "model/protocols/abstract.h"
#include "model/protocols/arguments.h"
#include "model/protocols/attribute.h"
#include "model/protocols/descriptor.h"
#include "model/protocols/store_attribute.h"
#include "model/tensors/store_tensor_attribute.h"
#include "model/tensors/tensor_call.h"
#include "python/interned.h"
#include "python/objects/sequence.h"
#include "python/process/nesting.h"
#include "python/process/out_of_memory.h"
#include "python/unstable.h"
#include "python/version/dict_version.h"
#include "python/version/type_version.h"
#include "tensor/fake/tensor_facts.h"
#include "world/external/class_lookup.h"
#include "world/external/container_reads.h"
#include "world/external/known_types.h"
#include "world/external/pin.h"
#include "world/external/scope.h"
#include "world/external/types.h"
#include "world/native/address_text.h"
#include "world/native/code_origin.h"
#include "world/native/native_code.h"
#include "world/state/identity.h"

namespace minidynamo::handlers {
namespace {

// Wrong numbers of arguments get CPython's own message.
bool takes(const Arguments& arguments, size_t least, size_t most) {
  return !arguments.keyword_names && arguments.values.size() >= least && arguments.values.size() <= most;
}

PyObject* argument(const Arguments& arguments, size_t index) { return arguments.values[index].get(); }

// An attribute's name, interned, as the lookups by address want it. One of a subclass of str is taken for the text that
// it is, unless it compares in its own way, or `is_kept`: an instance's namespace keeps the very object.
Ref attribute_name(Tracer& tracer, PyObject* given, bool is_kept = false) {
  if (!PyUnicode_Check(given)) {
    PyErr_Format(PyExc_TypeError, "attribute name must be string, not '%.200s'", Py_TYPE(given)->tp_name);
    return nullptr;
  }
  const PyTypeObject* type = Py_TYPE(given);
  const bool compares_as_text =
      type->tp_hash == PyUnicode_Type.tp_hash && type->tp_richcompare == PyUnicode_Type.tp_richcompare;
  if (!PyUnicode_CheckExact(given) && (is_kept || !compares_as_text))
    return tracer.abort(BreakReason::UnsupportedObject, "the name of an attribute is of a subclass of str");
  return as_interned(Ref::steal(PyUnicode_FromObject(given)).get());
}

Ref load(Tracer& tracer, PyObject* object, PyObject* given_name) {
  const Ref name = attribute_name(tracer, given_name);
  return name ? load_attribute(tracer, object, name.get()) : Ref();
}

// True if an object's hash does not come from an address that may be another's at the next call.
bool hashes_by_value(Tracer& tracer, PyObject* object, Visited& visited) {
  if (is_nan(object)) return false;
  const bool is_nesting = PyTuple_CheckExact(object) || PyFrozenSet_CheckExact(object);
  if (is_nesting && !visited.add(object)) return true;
  if (!is_nesting && is_constant(object)) return true;
  const NestingLevel level;
  if (level.is_too_deep()) return false;
  if (PyTuple_CheckExact(object)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i)
      if (!hashes_by_value(tracer, PyTuple_GET_ITEM(object, i), visited)) return false;
    return true;
  }
  if (PyFrozenSet_CheckExact(object)) {
    Py_ssize_t position = 0;
    PyObject* item;
    Py_hash_t hash;
    while (next_in_set(object, position, item, hash))
      if (!hashes_by_value(tracer, item, visited)) return false;
    return true;
  }
  PyTypeObject* type = Py_TYPE(object);
  if (is_guarded_by_identity(object)) return tracer.world.source_of(object) != nullptr;
  if (!is_python_class(type)) return !type->tp_hash || type->tp_hash == PyObject_HashNotImplemented;
  PyObject* method = class_attribute(type, "__hash__"_name);
  if (method && PyFunction_Check(method)) return true;  // traced: what it asks comes here in its turn
  return row_of_base(type).base == Base::Value || type->tp_hash == PyObject_HashNotImplemented;
}

bool hashes_by_value(Tracer& tracer, PyObject* object) {
  Visited visited;
  return hashes_by_value(tracer, object, visited);
}

Ref done(bool ok) { return ok ? Ref::none() : Ref(); }

}  // namespace

// True, but for torch's own call of a module: it asks so as to leave out its handler of exceptions where code is
// captured, and with it the hooks that are to run after an exception too (always_call=True). Here a handler is traced
// like all else.
Ref is_compiling(Tracer& tracer, PyObject*, const Arguments&) {
  PyCodeObject* asks = tracer.frame ? tracer.frame->code() : nullptr;
  const bool is_call_of_module = asks &&
                                 PyUnicode_CompareWithASCIIString(asks->co_qualname, "Module._call_impl") == 0 &&
                                 code_origin(asks->co_filename) == CodeOrigin::TorchModules;
  return Ref::boolean(!is_call_of_module);
}

Ref builtin_issubclass(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (takes(arguments, 2, 2)) guard_class_check(tracer, argument(arguments, 0), argument(arguments, 1));
  if (tracer.is_over()) return nullptr;
  return call_natively(tracer, callable, arguments);
}

Ref builtin_isinstance(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (!takes(arguments, 2, 2)) return call_natively(tracer, callable, arguments);
  PyObject* object = argument(arguments, 0);
  PyObject* classes = argument(arguments, 1);
  if (type_stood_for(object)) {
    Ref is = is_shown_instance(tracer, object, classes);
    if (is || PyErr_Occurred()) return is;
  }
  guard_class_check(tracer, object, classes);
  if (tracer.is_over()) return nullptr;
  // Plain classes are answered by the MRO.
  if (Py_IS_TYPE(classes, &PyType_Type) && Py_TYPE(classes)->tp_call) {
    if (PyType_IsSubtype(Py_TYPE(object), as_type(classes))) return Ref::boolean(true);
  }
  if (is_fake(object)) {
    if (PyTuple_Check(classes)) {
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(classes); ++i) {
        const Ref operands[] = {Ref::borrow(object), Ref::borrow(PyTuple_GET_ITEM(classes, i))};
        Ref is = builtin_isinstance(tracer, callable, Arguments{operands});
        if (!is.is(Py_False)) return is;
      }
      return Ref::boolean(false);
    }
    if (Py_IS_TYPE(classes, known_types()->tensor_type)) {  // torch.FloatTensor: asks for dtype and device
      Ref alike = empty_tensor_like(object);
      const int is = alike ? PyObject_IsInstance(alike.get(), classes) : -1;
      return is < 0 ? Ref() : Ref::boolean(is);
    }
    if (PyType_Check(classes)) {  // nn.Parameter and nn.Buffer: also tensors that have a mark
      Ref check = lookup_in_class(tracer, Py_TYPE(classes), "__instancecheck__"_name);
      if (!check && PyErr_Occurred()) return nullptr;
      if (check && PyFunction_Check(check.get())) {
        Ref is = call(tracer, check.get(), {Ref::borrow(classes), Ref::borrow(object)});
        const int answer = is ? truth(tracer, is.get()) : -1;
        return answer < 0 ? Ref() : Ref::boolean(answer);
      }
    }
    NativeScope native;
    const int is = PyObject_IsInstance(object, classes);
    if (is == 0) guard_is_no_subclass(tracer, Py_TYPE(object), classes);
    return is < 0 || tracer.is_over() ? Ref() : Ref::boolean(is);
  }
  if (!prepare_for_native(tracer, classes)) return nullptr;
  const int is = PyObject_IsInstance(object, classes);
  return is < 0 || tracer.is_over() ? Ref() : Ref::boolean(is);
}

Ref builtin_text(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (takes(arguments, 1, 1) && callable == "builtins.repr"_imported &&
      is_exception_from_outside(tracer, argument(arguments, 0)))
    return text_of_exception(tracer, argument(arguments, 0), "__repr__");
  for (const Ref& value : arguments.values) {
    if (has_fake(value.get())) return tracer.abort(BreakReason::TensorToText, "a tensor is turned into text");
    if (!prepare_for_native(tracer, value.get()) || !can_show(tracer, value.get())) return nullptr;
  }
  if (callable == "builtins.format"_imported && takes(arguments, 2, 2) &&
      !can_format(tracer, argument(arguments, 0), argument(arguments, 1)))
    return nullptr;
  return call_natively(tracer, callable, arguments);
}

Ref builtin_len(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (!takes(arguments, 1, 1)) return call_natively(tracer, callable, arguments);
  return length(tracer, argument(arguments, 0));
}

Ref builtin_getattr(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (!takes(arguments, 2, 3)) return call_natively(tracer, callable, arguments);
  Ref value = load(tracer, argument(arguments, 0), argument(arguments, 1));
  if (value || tracer.is_over() || arguments.values.size() == 2 || !PyErr_ExceptionMatches(PyExc_AttributeError))
    return value;
  clear_error();
  return arguments.values[2];
}

Ref builtin_hasattr(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (!takes(arguments, 2, 2)) return call_natively(tracer, callable, arguments);
  Ref value = load(tracer, argument(arguments, 0), argument(arguments, 1));
  if (tracer.is_over()) return nullptr;
  if (value) return Ref::boolean(true);
  if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return nullptr;
  clear_error();
  return Ref::boolean(false);
}

Ref builtin_setattr(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (!takes(arguments, 3, 3)) return call_natively(tracer, callable, arguments);
  const Ref name = attribute_name(tracer, argument(arguments, 1), true);
  return done(name && store_attribute(tracer, argument(arguments, 0), name.get(), argument(arguments, 2)));
}

Ref builtin_delattr(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (!takes(arguments, 2, 2)) return call_natively(tracer, callable, arguments);
  const Ref name = attribute_name(tracer, argument(arguments, 1));
  return done(name && store_attribute(tracer, argument(arguments, 0), name.get(), nullptr));
}

Ref builtin_iter(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (!takes(arguments, 1, 1)) return call_natively(tracer, callable, arguments);
  return iterator_of(tracer, argument(arguments, 0));
}

Ref builtin_next(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (!takes(arguments, 1, 2)) return call_natively(tracer, callable, arguments);
  Ref item = next_or_stop(tracer, argument(arguments, 0));
  if (item || tracer.is_over()) return item;
  if (PyErr_Occurred() && (arguments.values.size() == 1 || !PyErr_ExceptionMatches(PyExc_StopIteration)))
    return nullptr;
  clear_error();
  if (arguments.values.size() == 2) return arguments.values[1];
  PyErr_SetNone(PyExc_StopIteration);
  return nullptr;
}

Ref builtin_hash(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (!takes(arguments, 1, 1)) return call_natively(tracer, callable, arguments);
  PyObject* object = argument(arguments, 0);
  guard_special_methods(tracer, object);
  if (tracer.is_over()) return nullptr;
  Source* source = is_fake(object) ? nullptr : tracer.world.source_of(object);
  if (source && Py_TYPE(object)->tp_hash == PyBaseObject_Type.tp_hash) {  // its address: that of no other object
    tracer.guards.add(source, GuardKind::Identity, tracer.origin());
    return call_natively(tracer, callable, Arguments{std::span(&source->value, 1)});
  }
  if (is_fake(object) || !hashes_by_value(tracer, object))
    return tracer.abort(is_fake(object) ? BreakReason::TensorIdentity : BreakReason::ObjectIdentity,
                        "the hash of an object comes from its address");
  return call_natively(tracer, callable, arguments);
}

Ref builtin_id(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (!takes(arguments, 1, 1)) return call_natively(tracer, callable, arguments);
  PyObject* object = argument(arguments, 0);
  if (Source* source = tracer.world.source_of(object)) {  // only for the object that it stands for
    Ref number = Ref::made(PyLong_FromVoidPtr(source->value.get()));
    if (identity_is_only_a_key(tracer)) {  // then it matters only which objects are different
      tracer.world.require_distinct(source);
      if (tracer.world.pins_type(Py_TYPE(object)))  // from keys that are known by themselves too
        tracer.guards.add(source, GuardKind::Identity, tracer.origin());
      tracer.identities.given_out.insert(number);
    } else {
      tracer.guards.add(source, GuardKind::Identity, tracer.origin());
    }
    return number;
  }
  if (is_constant(object) && !is_fake(object)) return call_natively(tracer, callable, arguments);
  // Good for telling objects apart inside the trace (copy.deepcopy's memo); it may not leave it.
  tracer.identities.kept.push_back(Ref::borrow(object));
  Ref address = Ref::made(PyLong_FromVoidPtr(object));
  tracer.identities.given_out.insert(address);
  return address;
}

Ref operator_is(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (!takes(arguments, 2, 2)) return call_natively(tracer, callable, arguments);
  return is_same(tracer, argument(arguments, 0), argument(arguments, 1));
}

Ref operator_is_not(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (!takes(arguments, 2, 2)) return call_natively(tracer, callable, arguments);
  Ref same = is_same(tracer, argument(arguments, 0), argument(arguments, 1));
  return same ? Ref::boolean(same.is(Py_False)) : Ref();
}

// functools.cached_property: the value in the instance, or a new one that is put there. Its lock, which CPython 3.12
// has done away with, is for threads, which a trace has not.
Ref cached_property_get(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  static constinit ImportedType lock_type{"_thread.RLock"};
  static constinit CachedObject example{
      [](const char* function) {
        const Ref type = import_loaded("functools.cached_property");
        return Ref::steal(PyObject_CallOneArg(type.get(), import_loaded(function).get()));
      },
      "builtins.len"};
  if (arguments.values.size() < 2 || arguments.values[1].is(Py_None)) return call_function(tracer, callable, arguments);
  PyObject* property = argument(arguments, 0);
  PyObject* instance = argument(arguments, 1);
  Ref given_name = load_attribute(tracer, property, "attrname"_name);
  Ref name = given_name ? attribute_name(tracer, given_name.get()) : Ref();
  if (!name) return nullptr;
  Ref cached = load_from_instance(tracer, instance, name.get());
  if (cached || PyErr_Occurred()) return cached;
  if (instance_attribute(example, "lock"_name)) {
    Ref lock = load_attribute(tracer, property, "lock"_name);
    if (!lock) return nullptr;
    if (!Py_IS_TYPE(lock.get(), lock_type)) return call_function(tracer, callable, arguments);
  }
  Ref function = load_attribute(tracer, property, "func"_name);
  Ref value = function ? call(tracer, function.get(), {Ref::borrow(instance)}) : Ref();
  return value && store_in_instance(tracer, instance, name.get(), value.get()) ? value : Ref();
}

Ref attribute_getter_call(Tracer& tracer, PyObject* getter, const Arguments& arguments) {
  if (!takes(arguments, 1, 1)) return call_natively(tracer, getter, arguments);
  Ref reduced = Ref::steal(PyObject_CallMethod(getter, "__reduce__", nullptr));  // (attrgetter, paths)
  if (!reduced) return nullptr;
  PyObject* paths = PyTuple_GET_ITEM(reduced.get(), 1);
  Ref values = Ref::made(PyTuple_New(PyTuple_GET_SIZE(paths)));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(paths); ++i) {
    Ref names = Ref::steal(PyObject_CallMethod(PyTuple_GET_ITEM(paths, i), "split", "s", "."));
    Ref value = arguments.values[0];
    for (Py_ssize_t k = 0; value && names && k < PyList_GET_SIZE(names.get()); ++k)
      value = load(tracer, value.get(), PyList_GET_ITEM(names.get(), k));
    if (!value || !names) return nullptr;
    if (PyTuple_GET_SIZE(paths) == 1) return value;
    if (!prepare_for_native(tracer, value.get())) return nullptr;
    PyTuple_SET_ITEM(values.get(), i, value.release());
  }
  return values;
}

Ref method_caller_call(Tracer& tracer, PyObject* caller, const Arguments& arguments) {
  if (!takes(arguments, 1, 1)) return call_natively(tracer, caller, arguments);
  Ref reduced = Ref::steal(
      PyObject_CallMethod(caller, "__reduce__", nullptr));  // (methodcaller, (name, *args)), or with a partial
  if (!reduced) return nullptr;
  PyObject* parts = PyTuple_GET_ITEM(reduced.get(), 1);
  const bool is_from_before = tracer.world.source_of(caller);
  const auto refuse = [&] {
    return tracer.abort(BreakReason::OpaqueObject, "a methodcaller from before the call has an object for its method");
  };
  if (is_from_before && !is_constant(parts)) return refuse();
  if (PyObject* made_by = PyTuple_GET_ITEM(reduced.get(), 0); Py_IS_TYPE(made_by, known_types()->partial)) {
    Ref name = Ref::steal(PyObject_GetAttrString(made_by, "args")),
        keywords = Ref::steal(PyObject_GetAttrString(made_by, "keywords"));
    if (!name || !keywords) return nullptr;
    const Ref values = tuple_of(items_of(Ref::made(PyDict_Values(keywords.get())).get()));
    if (is_from_before && !is_constant(values.get())) return refuse();
    Ref method = load(tracer, argument(arguments, 0), PyTuple_GET_ITEM(name.get(), 0));
    return method ? call_with(tracer, method.get(), parts, keywords.get()) : Ref();
  }
  Ref method = load(tracer, argument(arguments, 0), PyTuple_GET_ITEM(parts, 0));
  Ref rest = Ref::made(PyTuple_GetSlice(parts, 1, PyTuple_GET_SIZE(parts)));
  return method ? call_with(tracer, method.get(), rest.get(), nullptr) : Ref();
}

namespace {

// The get() of a dict, or of a proxy of one, that the trace has looked into only for some keys asks for one more.
Ref get_item(Tracer& tracer, PyObject* method, const Arguments& arguments) {
  if (takes(arguments, 2, 3) && is_namespace(tracer, argument(arguments, 0)) &&
      PyUnicode_CheckExact(argument(arguments, 1))) {
    Ref value = load_from_namespace(tracer, argument(arguments, 0), argument(arguments, 1));
    if (value || PyErr_Occurred()) return value;
    return arguments.values.size() == 3 ? arguments.values[2] : Ref::none();
  }
  if (takes(arguments, 2, 3)) guard_as_key(tracer, argument(arguments, 0), argument(arguments, 1));
  ShadowContainer* shadow = takes(arguments, 2, 3) ? tracer.world.shadow(argument(arguments, 0)) : nullptr;
  if (shadow && !shadow->filled && PyDict_CheckExact(shadow->object.get()) && is_plain_key(argument(arguments, 1))) {
    bool found = false;
    Ref value = item_of_shadow(tracer, *shadow, argument(arguments, 1), found);
    if (found || PyErr_Occurred()) return value;
    return arguments.values.size() == 3 ? arguments.values[2] : Ref::none();
  }
  return call_natively(tracer, method, arguments);
}

}  // namespace

Ref dict_get(Tracer& tracer, PyObject*, const Arguments& arguments) {
  return get_item(tracer, "builtins.dict.get"_imported, arguments);
}

Ref mapping_proxy_get(Tracer& tracer, PyObject*, const Arguments& arguments) {
  return get_item(tracer, "types.MappingProxyType.get"_imported, arguments);
}

// True if the real logger returns the answer that it returns in the trace: the trace has changed nothing that the
// logger's level depends on. False where the trace has read the whole cache of the logger, which the answer adds to.
bool is_logger_as_before(Tracer& tracer, PyObject* logger) {
  const auto is_as_before = [&](PyObject* object) {
    return tracer.world.source_of(object) && !tracer.effects.has_writes(object);
  };
  const Ref manager = load_attribute(tracer, logger, "manager"_name);
  const Ref cache = load_attribute(tracer, logger, "_cache"_name);
  if (!manager || !cache || !is_as_before(manager.get()) || !is_as_before(cache.get())) return false;
  if (const ShadowContainer* shadow = tracer.world.shadow(cache.get()); shadow && shadow->filled) return false;
  for (Ref one = Ref::borrow(logger); !one.is(Py_None); one = load_attribute(tracer, one.get(), "parent"_name))
    if (!one || !is_as_before(one.get())) return false;
  return true;
}

// As the method itself, without its lock. What it keeps is kept for real before the frame is traced again, so that a
// function which logs only once (a cached one) changes nothing that it did not make.
Ref logger_is_enabled_for(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  static PyObject* const names[] = {"disabled"_name, "manager"_name, "disable"_name, "getEffectiveLevel"_name,
                                    "_cache"_name};
  if (!takes(arguments, 2, 2)) return call_function(tracer, callable, arguments);
  PyObject* logger = argument(arguments, 0);
  PyObject* level = argument(arguments, 1);
  Ref disabled = load_attribute(tracer, logger, names[0]);
  const int is_disabled = disabled ? truth(tracer, disabled.get()) : -1;
  if (is_disabled != 0) return is_disabled < 0 ? Ref() : Ref::boolean(false);
  Ref cache = load_attribute(tracer, logger, names[4]);
  const int is_cached = cache ? contains(tracer, cache.get(), level) : -1;
  if (is_cached != 0) return is_cached < 0 ? Ref() : subscript(tracer, cache.get(), level);
  Ref manager = load_attribute(tracer, logger, names[1]);
  Ref limit = manager ? load_attribute(tracer, manager.get(), names[2]) : Ref();
  Ref above = limit ? compare(tracer, Py_GE, limit.get(), level) : Ref();
  const int is_above = above ? truth(tracer, above.get()) : -1;
  Ref enabled = is_above == 1 ? Ref::boolean(false) : Ref();
  if (is_above == 0) {
    Ref effective = load_attribute(tracer, logger, names[3]);
    Ref own_level = effective ? call(tracer, effective.get(), Arguments{}) : Ref();
    if (own_level) enabled = compare(tracer, Py_GE, level, own_level.get());
  }
  if (!enabled) return nullptr;
  if (is_constant(level) && tracer.limits.may_fill_caches && is_logger_as_before(tracer, logger)) {
    tracer.lru_caches_to_warm.push_back({Ref::borrow(callable), arguments.positional(), nullptr});
    return enabled;
  }
  return store_subscript(tracer, cache.get(), level, enabled.get()) ? enabled : Ref();
}

// The classes of the MRO in a new list, for a metaclass that has no say.
Ref type_mro(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (!takes(arguments, 1, 1) || !PyType_Check(argument(arguments, 0)))
    return call_natively(tracer, callable, arguments);
  Ref classes = load_attribute(tracer, argument(arguments, 0), "__mro__"_name);
  return classes ? Ref::steal(PySequence_List(classes.get())) : Ref();
}

// f.__call__(...): a call of f.
Ref call_itself(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (arguments.positional_count() == 0) return call_natively(tracer, callable, arguments);
  return call(tracer, argument(arguments, 0), Arguments{arguments.values.subspan(1), arguments.keyword_names});
}

Ref type_call(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (arguments.positional_count() == 0 || !PyType_Check(argument(arguments, 0)))
    return call_natively(tracer, callable, arguments);
  return instantiate(tracer, as_type(argument(arguments, 0)),
                     Arguments{arguments.values.subspan(1), arguments.keyword_names});
}

// The context that entering makes is a value of the graph, which leaving uses.
Ref inference_mode_enter(Tracer& tracer, PyObject*, const Arguments& arguments) {
  static constinit Imported enter{"torch.autograd.grad_mode._enter_inference_mode"};
  PyObject* self = argument(arguments, 0);
  if (tracer.world.source_of(self))
    return tracer.abort(BreakReason::OutsideContext, "an inference_mode made before the call is entered");
  const Ref mode = load_attribute(tracer, self, "mode"_name);
  if (!mode) return nullptr;
  Ref context = record_state_change(tracer, enter, Arguments{std::span<const Ref>(&mode, 1)});
  if (!context) return nullptr;
  tracer.graph.stand_for(context.get(), static_cast<NodeId>(tracer.graph.nodes().size() - 1));
  tracer.modes.note_entered({context, enter, mode, true});
  return done(PyObject_GenericSetAttr(self, "_inference_mode_context"_name, context.get()) == 0);
}

Ref inference_mode_exit(Tracer& tracer, PyObject*, const Arguments& arguments) {
  const Ref context = load_attribute(tracer, argument(arguments, 0), "_inference_mode_context"_name);
  if (!context) return nullptr;
  if (!tracer.modes.leave(context.get()))
    return tracer.abort(BreakReason::OutsideContext, "an inference_mode entered before the trace is left");
  return done(static_cast<bool>(record_state_change(tracer, "torch.autograd.grad_mode._exit_inference_mode"_imported,
                                                    Arguments{std::span<const Ref>(&context, 1)})));
}

Ref object_setattr(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (!takes(arguments, 3, 3) || is_fake(argument(arguments, 0)) || PyType_Check(argument(arguments, 0)))
    return tracer.abort(BreakReason::OutsideAttributeWrite, "object.__setattr__ on a tensor or a class");
  (void)callable;
  const Ref name = attribute_name(tracer, argument(arguments, 1), true);
  return done(name && store_in_instance(tracer, argument(arguments, 0), name.get(), argument(arguments, 2)));
}

Ref object_delattr(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (!takes(arguments, 2, 2) || is_fake(argument(arguments, 0)) || PyType_Check(argument(arguments, 0)))
    return tracer.abort(BreakReason::OutsideAttributeWrite, "object.__delattr__ on a tensor or a class");
  (void)callable;
  const Ref name = attribute_name(tracer, argument(arguments, 1));
  return done(name && store_in_instance(tracer, argument(arguments, 0), name.get(), nullptr));
}

Ref object_getattribute(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (!takes(arguments, 2, 2)) return call_natively(tracer, callable, arguments);
  const Ref name = attribute_name(tracer, argument(arguments, 1));
  return name ? load_attribute_generically(tracer, argument(arguments, 0), name.get()) : Ref();
}

Ref module_getattribute(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (!takes(arguments, 2, 2) || !PyModule_CheckExact(argument(arguments, 0)))
    return tracer.abort(BreakReason::UnknownFunction, callable_name(callable) + " of a class of modules");
  const Ref name = attribute_name(tracer, argument(arguments, 1));
  return name ? load_attribute(tracer, argument(arguments, 0), name.get()) : Ref();
}

// list[int](...): a call of what stands before the brackets.
Ref generic_alias_call(Tracer& tracer, PyObject* alias, const Arguments& arguments) {
  Ref origin = Ref::steal(PyObject_GetAttr(alias, "__origin__"_name));
  if (!origin || !PyType_Check(origin.get()))
    return clear_error(), tracer.abort(BreakReason::UnknownFunction, "a generic alias of no class is called");
  source_or_pin(tracer, origin.get());
  Ref made = call(tracer, origin.get(), Arguments{arguments.values, arguments.keyword_names});
  if (!made || is_static_class(made.type())) return made;
  if (store_attribute(tracer, made.get(), "__orig_class__"_name, alias)) return made;
  if (tracer.is_over() || (!PyErr_ExceptionMatches(PyExc_AttributeError) && !PyErr_ExceptionMatches(PyExc_TypeError)))
    return nullptr;
  clear_error();
  return made;
}

// The __get__ of descriptors of C code, called by hand.
Ref descriptor_get(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  const size_t count = arguments.values.size();
  if (arguments.keyword_names || count < 2 || count > 3) return call_natively(tracer, callable, arguments);
  PyObject* descriptor = arguments.values[0].get();
  PyObject* object = arguments.values[1].get();
  if (Py_TYPE(descriptor)->tp_descr_get != PyDescr_TYPE(callable)->tp_descr_get)
    return call_natively(tracer, callable, arguments);
  const bool is_getter = Py_IS_TYPE(descriptor, &PyGetSetDescr_Type) || Py_IS_TYPE(descriptor, &PyMemberDescr_Type);
  PyObject* owner = count == 3 ? arguments.values[2].get() : Py_None;
  if (is_fake(object) && is_getter)
    return load_described_attribute(tracer, object, descriptor, PyDescr_NAME(descriptor));
  if (is_fake(object) || (object == Py_None && (owner == Py_None || Py_IS_TYPE(descriptor, &PyClassMethod_Type))))
    return tracer.abort(BreakReason::UnknownFunction, "__get__ of a descriptor is called");
  if (object == Py_None)
    return Py_IS_TYPE(descriptor, &PyStaticMethod_Type) ? bind_descriptor(tracer, descriptor, owner, nullptr)
                                                        : arguments.values[0];
  if (Py_IS_TYPE(descriptor, &PyClassMethod_Type) && owner == Py_None)
    return bind_descriptor(tracer, descriptor, as_object(Py_TYPE(object)), nullptr);
  if (Py_IS_TYPE(descriptor, &PyClassMethod_Type)) return bind_descriptor(tracer, descriptor, owner, nullptr);
  // CPython refuses a wrong argument itself. A method that gets its class wants a class.
  const bool wants_class = Py_IS_TYPE(descriptor, &PyMethodDescr_Type) &&
                           reinterpret_cast<PyMethodDescrObject*>(descriptor)->d_method->ml_flags & METH_METHOD;
  if ((is_getter && !PyType_IsSubtype(Py_TYPE(object), PyDescr_TYPE(descriptor))) ||
      (wants_class && owner != Py_None && !PyType_Check(owner)))
    return call_natively(tracer, callable, arguments);
  if (PyType_Check(object) && !tracer.classes.has(object)) source_or_pin(tracer, object);
  return bind_descriptor(tracer, descriptor, object, is_getter ? PyDescr_NAME(descriptor) : nullptr);
}

// The __set__ and __delete__ of descriptors of C code, called by hand: of a tensor's attributes.
Ref descriptor_set(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  const size_t count = arguments.values.size();
  PyObject* descriptor = count ? arguments.values[0].get() : nullptr;
  if (arguments.keyword_names || count < 2 || count > 3 || !Py_IS_TYPE(descriptor, &PyGetSetDescr_Type) ||
      !is_fake(arguments.values[1].get()))
    return tracer.abort(BreakReason::UnknownFunction, callable_name(callable) + " is called");
  PyObject* value = count == 3 ? arguments.values[2].get() : nullptr;
  const bool done =
      store_described_attribute(tracer, arguments.values[1].get(), descriptor, PyDescr_NAME(descriptor), value);
  return done ? Ref::none() : Ref();
}

}  // namespace minidynamo::handlers
