// How objects of each type are made again: a case for each value of ReconstructRule (world/external/types.h).
#include "plan/values.h"

#include <algorithm>

#include "emit/rebuild.h"
#include "guard/constants.h"
#include "model/native/reported_type.h"
#include "model/objects/exception_context.h"
#include "model/objects/generator.h"
#include "python/code/bound_method.h"
#include "python/code/struct_sequence.h"
#include "python/objects/iterators.h"
#include "python/objects/itertools_fields.h"
#include "python/objects/lru_cache.h"
#include "python/objects/mapping_proxy.h"
#include "python/objects/set_table.h"
#include "python/process/out_of_memory.h"
#include "python/unstable.h"
#include "python/version/dict_version.h"
#include "python/version/type_version.h"
#include "world/external/context_token.h"
#include "world/external/known_types.h"
#include "world/external/types.h"
#include "world/native/native_objects.h"
#include "world/proxies/fake_array.h"

namespace minidynamo {
PyObject* ValuePlanner::kept(Ref made) {
  keep_alive_.push_back(std::move(made));
  return keep_alive_.back().get();
}

ValueId ValuePlanner::reconstruct_by_type(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  PyObject* const callable = as_object(type);
  auto part = [&](const char* name) { return kept(Ref::made(PyObject_GetAttrString(object, name))); };
  switch (reconstruct_rule_of(type)) {
    case ReconstructRule::Never:
      break;
    case ReconstructRule::Constant:
      return constant(object);
    case ReconstructRule::NumpyScalar: {  // a new one each time
      return add({PlanStep::Kind::Call, Ref::borrow("numpy.generic.copy"_imported), 0, {constant(object)}});
    }
    case ReconstructRule::Class:
      return constant(as_object(reported_class(object)));
    case ReconstructRule::Tuple:
      return sequence(PlanStep::Kind::Tuple, object);
    case ReconstructRule::Record:
      return record(object);
    case ReconstructRule::List:
      return sequence(PlanStep::Kind::List, object);
    case ReconstructRule::Dict:
      return dict(object);
    case ReconstructRule::Set:
      return set(object);
    case ReconstructRule::Slice: {
      auto* slice = as_slice(object);
      return with_operands(PlanStep::Kind::Slice, {slice->start, slice->stop, slice->step});
    }
    case ReconstructRule::Deque: {
      PyObject* const items = kept(Ref::made(PySequence_List(object)));
      return call(callable, {items, part("maxlen")});
    }
    case ReconstructRule::DefaultDict: {
      PyObject* const items = kept(Ref::made(PyDict_Copy(object)));
      return call(callable, {part("default_factory"), items});
    }
    case ReconstructRule::ByteArray:
      return call(callable, {kept(Ref::made(PyBytes_FromObject(object)))});
    case ReconstructRule::DictView:
      return dict_view(object);
    case ReconstructRule::NumberFormat: {
      const Ref name = Ref::made(PyObject_GetAttrString(object, "dtype"));
      return call(callable, {kept(Ref::made(PyObject_GetAttr("torch"_imported, name.get())))});
    }
    case ReconstructRule::OrderedDictIterator:
      return ordered_dict_iterator(object);
    case ReconstructRule::DictIteratorBackwards:
      return dict_iterator_backwards(object);
    case ReconstructRule::DequeIterator:
      return deque_iterator(object);
    case ReconstructRule::Fields:
      return iterator_of_itertools(object);
    case ReconstructRule::Proxy:
      return call(callable, {proxied_mapping(object)});
    case ReconstructRule::Cell:
      return cell(object);
    case ReconstructRule::ListIterator:
      return iterated_container(object) ? list_iterator(object) : reduced(object);
    case ReconstructRule::DictIterator:
      return dict_iterator(object);
    case ReconstructRule::SetIterator:
      return set_iterator(object);
    case ReconstructRule::Function:
      return function(object);
    case ReconstructRule::Method:
      return bound_method(PyMethod_GET_FUNCTION(object), PyMethod_GET_SELF(object));
    case ReconstructRule::NativeMethod:
      return bound_native_method(object);
    case ReconstructRule::Partial:
      return partial(object);
    case ReconstructRule::Object:
      return call(callable, {});
    case ReconstructRule::Instance:
      if (type == lru_cache_type()) return cached_function(object);
      return instance(object);
    case ReconstructRule::Super:
      return call(callable, {part("__thisclass__"), part("__self__")});
    case ReconstructRule::Property:
      return property(object);
    case ReconstructRule::Wrapper:
      return call(callable, {part("__func__")});
    case ReconstructRule::Union: {
      const ValueId members = value_of(part("__args__"));
      return members == kNoValue ? kNoValue
                                 : add({PlanStep::Kind::Call,
                                        Ref::borrow("functools.reduce"_imported),
                                        0,
                                        {constant("operator.or_"_imported), members}});
    }
    case ReconstructRule::Exception:
      return exception(object);
    case ReconstructRule::WeakReference:
      return weak_reference(object);
    case ReconstructRule::Date:
    case ReconstructRule::Lock:
    case ReconstructRule::RecursiveLock:
    case ReconstructRule::RandomNumbers:
    case ReconstructRule::Stream:
    case ReconstructRule::Array:
    case ReconstructRule::NumpyArray:
      return native_object(object);
    case ReconstructRule::Reduced:
      return reduced(object);
  }
  return refuse(std::string("a ") + type->tp_name + " leaves the trace");
}

// With what it has kept, oldest first; of such keys as say which arguments they are made of.
ValueId ValuePlanner::cached_function(PyObject* object) {
  PyObject* const contents = kept(lru_cache_contents(object));
  PyObject* const attributes = kept(Ref::steal(PyObject_GenericGetDict(object, nullptr)));
  if (!contents || !attributes) return clear_error(), refuse("a cached function that has kept what it gave");
  return call(lru_cache_again_callable(),
              {function_behind_lru_cache(object), contents, kept(Ref::made(PyDict_Copy(attributes)))});
}

ValueId ValuePlanner::weak_reference(PyObject* object) {
  PyObject* callback = reinterpret_cast<PyWeakReference*>(object)->wr_callback;
  PyObject* made_by = as_object(Py_TYPE(object));
  PyObject* referent = PyWeakref_GET_OBJECT(object);
  if (referent == Py_None) return call(dead_reference_callable(), {});
  if (!callback) return call(made_by, {referent});
  const ValueId made = call(made_by, {referent, callback});
  if (made != kNoValue) watched_.emplace_back(made, plan_.steps[made].operands[0]);
  return made;
}

// Made by setting the variable, after what the trace set it to before.
ValueId ValuePlanner::context_token(PyObject* token) {
  const std::vector<const ContextSet*> sets = tracer_.effects.sets_until(token);
  if (sets.empty()) return refuse("a token of a ContextVar that was reset leaves the trace");
  if (tracer_.effects.has_calls()) return refuse("a token of a ContextVar outlives a call of a cached function");
  for (size_t i = 0; i + 1 < sets.size(); ++i)
    if (value_of(sets[i]->token.get()) == kNoValue) return kNoValue;
  const ContextSet* own = sets.back();
  return call("contextvars.ContextVar.set"_imported, {own->variable.get(), own->value.get()});
}

// A long list of constants is a copy of one: the residual code need not name each.
ValueId ValuePlanner::sequence_of_constants(PyObject* object) {
  constexpr Py_ssize_t kLong = 16;
  if (!PyList_CheckExact(object) || PyList_GET_SIZE(object) < kLong) return kNoValue;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(object); ++i) {
    PyObject* item = PyList_GET_ITEM(object, i);
    if (!is_constant(item) || values_.count(item) || tracer_.world.source_of(item) || holds_identity(item))
      return kNoValue;
  }
  Ref items = Ref::made(PyList_AsTuple(object));
  return add({PlanStep::Kind::Call, Ref::borrow(as_object(&PyList_Type)), 0, {constant(items.get())}});
}

ValueId ValuePlanner::sequence(PlanStep::Kind kind, PyObject* object) {
  if (const ValueId copied = sequence_of_constants(object); copied != kNoValue) return copied;
  PlanStep step{kind};
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i) {
    step.operands.push_back(value_of(PySequence_Fast_GET_ITEM(object, i)));
    if (step.operands.back() == kNoValue) return kNoValue;
  }
  return add(std::move(step));
}

bool ValuePlanner::hashes_natively(PyObject* key) {
  // These hash and compare as what they lead to.
  if (Py_IS_TYPE(key, &_PyWeakref_RefType)) key = PyWeakref_GET_OBJECT(key);
  return is_plain_key(key) || is_guarded_by_identity(key) || is_tensor(key);
}

// A dict, or without values a set, of keys with hashes of their own.
ValueId ValuePlanner::hashed(const std::vector<Ref>& keys, const std::vector<Ref>* values,
                             const std::vector<Py_hash_t>& hashes) {
  std::unordered_set<Py_hash_t> seen;
  for (const Py_hash_t hash : hashes)
    if (!seen.insert(hash).second) return refuse("keys of one hash leave the trace");  // these would be compared
  auto tuple = [](const std::vector<Ref>& items) {
    Ref made = Ref::made(PyTuple_New(static_cast<Py_ssize_t>(items.size())));
    for (size_t i = 0; i < items.size(); ++i)
      PyTuple_SET_ITEM(made.get(), static_cast<Py_ssize_t>(i), Ref(items[i]).release());
    return made;
  };
  std::vector<Ref> numbers;
  for (const Py_hash_t hash : hashes) numbers.push_back(Ref::made(PyLong_FromSsize_t(hash)));
  Ref key_tuple = tuple(keys), value_tuple = values ? tuple(*values) : Ref::none(), hash_tuple = tuple(numbers);
  for (const Ref& kept : {key_tuple, value_tuple, hash_tuple}) keep_alive_.push_back(kept);
  return call(rebuild_hashed_callable(), {key_tuple.get(), value_tuple.get(), hash_tuple.get()});
}

ValueId ValuePlanner::dict(PyObject* object) {
  if (PyObject* owner = tracer_.made.owner_of_dict(object)) {
    static constinit Imported getattr{"builtins.getattr"};
    if (!PyType_Check(owner)) return call(getattr, {owner, "__dict__"_name});
    return PyDict_GET_SIZE(object) ? refuse("annotations that are put into a class")
                                   : call(getattr, {owner, "__annotations__"_name});
  }
  Py_ssize_t position = 0;
  PyObject *key, *value;
  Py_hash_t hash;
  std::vector<Ref> keys, values;
  std::vector<Py_hash_t> hashes;
  bool natively = true;
  while (next_with_hash(object, position, key, value, hash)) {
    natively &= hashes_natively(key);
    keys.push_back(Ref::borrow(key)), values.push_back(Ref::borrow(value)), hashes.push_back(hash);
  }
  if (!natively) return hashed(keys, &values, hashes);
  PlanStep step{PlanStep::Kind::Dict};
  for (size_t i = 0; i < keys.size(); ++i) {
    for (PyObject* part : {keys[i].get(), values[i].get()}) {
      step.operands.push_back(value_of(part));
      if (step.operands.back() == kNoValue) return kNoValue;
    }
  }
  return add(std::move(step));
}

bool ValuePlanner::is_template(PyObject* set) const {
  Py_ssize_t position = 0;
  PyObject* item;
  Py_hash_t hash;
  while (next_in_set(set, position, item, hash))
    if (holds_identity(item) || tracer_.classes.has(item) || is_nan(item) ||
        !(is_constant(item) || (tracer_.world.source_of(item) && is_guarded_by_identity(item))))
      return false;
  return true;
}

// A new set of constants whose items come in the same order.
ValueId ValuePlanner::set_like(PyObject* object) {
  const Ref as_it_is = set_with_table_of(object);
  return add({PlanStep::Kind::Call, Ref::borrow(set_like_callable()), 0, {constant(as_it_is.get())}});
}

ValueId ValuePlanner::set(PyObject* object) {
  if (!is_table_in_order(object) && is_template(object)) return set_like(object);
  PlanStep step{PlanStep::Kind::Set};
  Py_ssize_t position = 0;
  PyObject* item;
  Py_hash_t hash;
  std::vector<Ref> keys;
  std::vector<Py_hash_t> hashes;
  bool natively = true;
  while (next_in_set(object, position, item, hash)) {
    natively &= hashes_natively(item);
    keys.push_back(Ref::borrow(item)), hashes.push_back(hash);
  }
  for (size_t i = 0; natively && i < keys.size(); ++i) {
    step.operands.push_back(value_of(keys[i].get()));
    if (step.operands.back() == kNoValue) return kNoValue;
  }
  const ValueId items = natively ? add(std::move(step)) : hashed(keys, nullptr, hashes);
  if (items == kNoValue) return kNoValue;
  if (PySet_CheckExact(object)) return items;
  return add({PlanStep::Kind::Call, Ref::borrow(as_object(&PyFrozenSet_Type)), 0, {items}});
}

ValueId ValuePlanner::cell(PyObject* object) {
  PyObject* type = as_object(&PyCell_Type);
  PyObject* contents = PyCell_GET(object);
  return contents ? call(type, {contents}) : call(type, {});
}

// The names of a module, as the functions defined there have them.
ValueId ValuePlanner::names(PyObject* globals) {
  if (tracer_.made.namespaces.count(Ref::borrow(globals))) return value_of(globals);
  Source* known = tracer_.world.source_of(globals);
  return live(known ? known : tracer_.guards.pinned(globals, "G"));
}

ValueId ValuePlanner::function(PyObject* object) {
  // From outside, by way of C code that gave it unguarded: a copy would be another function.
  if (!tracer_.made.functions.count(Ref::borrow(object))) return refuse("a function that native code found");
  auto* made = as_function(object);
  auto part = [](PyObject* value) { return value ? value : Py_None; };
  PyObject* const dict = made->func_dict;
  const Ref own = Ref::borrow(dict && (PyDict_GET_SIZE(dict) || is_shared(dict)) ? dict : Py_None);
  values_.try_emplace(made->func_code, constant(made->func_code));
  if (!values_.count(made->func_globals) && !tracer_.made.namespaces.count(Ref::borrow(made->func_globals)))
    values_.emplace(made->func_globals, names(made->func_globals));
  std::vector<PyObject*> parts = {made->func_code,
                                  made->func_globals,
                                  made->func_name,
                                  part(made->func_defaults),
                                  part(made->func_kwdefaults),
                                  part(made->func_closure),
                                  part(made->func_annotations),
                                  made->func_qualname,
                                  own.get(),
                                  part(made->func_module),
                                  part(made->func_doc)};
  PyObject *parameters = type_parameters_of(made), *annotate = annotate_of(made);
  if (parameters || annotate) parts.push_back(part(parameters));
  if (annotate) parts.push_back(annotate);
  return call(rebuild_function_callable(), parts);
}

// A method of C code, bound to an object: `items.append`, `super().__init__`. The class's own is bound again: asking
// the object for the name might find another.
ValueId ValuePlanner::bound_native_method(PyObject* object) {
  if (!is_bound_native_method(object)) return constant(object);
  const Ref self = bound_self_of(object);
  PyObject* descriptor = descriptor_behind(object);
  if (!self || !descriptor) return refuse("a bound method of C code leaves the trace");
  keep_alive_.push_back(self);
  return bound_method(descriptor, self.get());
}

ValueId ValuePlanner::bound_method(PyObject* function, PyObject* self) {
  const bool is_descriptor = Py_IS_TYPE(function, &PyMethodDescr_Type) || Py_IS_TYPE(function, &PyWrapperDescr_Type);
  if (!is_descriptor)
    return call(PyCallable_Check(function) ? as_object(&PyMethod_Type) : make_method_callable(), {function, self});
  if (!type_stood_for(self)) return call(bind_callable(), {function, self});
  static constinit Imported getattr{"builtins.getattr"};  // the real one has its own
  return call(getattr, {self, PyDescr_NAME(function)});
}

ValueId ValuePlanner::partial(PyObject* object) {
  Ref parts[3];
  const char* const names[] = {"func", "args", "keywords"};
  for (int i = 0; i < 3; ++i) {
    parts[i] = Ref::steal(PyObject_GetAttrString(object, names[i]));
    if (!parts[i]) return refuse("a functools.partial");
    keep_alive_.push_back(parts[i]);
  }
  Ref own = Ref::steal(PyObject_GenericGetDict(object, nullptr));
  if (own && PyDict_GET_SIZE(own.get()) == 0) own = Ref::none();
  if (!own) return refuse("a functools.partial");
  keep_alive_.push_back(own);
  return call(rebuild_partial_callable(), {parts[0].get(), parts[1].get(), parts[2].get(), own.get()});
}

ValueId ValuePlanner::record(PyObject* object) {
  const Py_ssize_t count = std::max(struct_sequence_size(Py_TYPE(object)), PyTuple_GET_SIZE(object));
  Ref items = Ref::made(PyTuple_New(count));
  for (Py_ssize_t i = 0; i < count; ++i)
    PyTuple_SET_ITEM(items.get(), i, Ref::borrow(struct_sequence_item(object, i)).release());
  keep_alive_.push_back(items);
  return call(rebuild_tuple_callable(), {as_object(Py_TYPE(object)), items.get()});
}

ValueId ValuePlanner::property(PyObject* object) {
  Ref parts[4];
  const char* const names[] = {"fget", "fset", "fdel", "__doc__"};
  for (int i = 0; i < 4; ++i) {
    parts[i] = Ref::steal(PyObject_GetAttrString(object, names[i]));
    if (!parts[i]) return clear_error(), refuse("a property");
    keep_alive_.push_back(parts[i]);
  }
  PyObject* type = as_object(&PyProperty_Type);
  // The getter's own text is found again; then a copy with another getter takes that one's.
  Ref text = parts[0].is(Py_None) ? Ref() : Ref::steal(PyObject_GetAttrString(parts[0].get(), "__doc__"));
  clear_error();
  if (text.is(parts[3].get())) return call(type, {parts[0].get(), parts[1].get(), parts[2].get()});
  return call(type, {parts[0].get(), parts[1].get(), parts[2].get(), parts[3].get()});
}

// An instance of a Python class, perhaps derived from a builtin container.
ValueId ValuePlanner::instance(PyObject* object) {
  Ref parts = instance_parts(object);  // (items or None, attributes)
  if (!parts) {
    clear_error();
    return refuse(std::string("an instance of ") + Py_TYPE(object)->tp_name);
  }
  keep_alive_.push_back(parts);
  return call(rebuild_instance_callable(),
              {as_object(Py_TYPE(object)), PyTuple_GET_ITEM(parts.get(), 0), PyTuple_GET_ITEM(parts.get(), 1)});
}

ValueId ValuePlanner::exception(PyObject* object) {
  auto* raised = reinterpret_cast<PyBaseExceptionObject*>(object);
  Ref attributes = exception_attributes(object);
  if (!attributes) {
    clear_error();
    return refuse(std::string("a ") + Py_TYPE(object)->tp_name);
  }
  Ref cause = Ref::steal(PyException_GetCause(object)), context = Ref::steal(PyException_GetContext(object)),
      traceback = Ref::steal(PyException_GetTraceback(object));
  auto part = [&](Ref& value) {
    if (!value) value = Ref::none();
    keep_alive_.push_back(value);
    return value.get();
  };
  keep_alive_.push_back(attributes);
  guard_no_context(tracer_, object);
  PyObject* const type = as_object(Py_TYPE(object));
  PyObject* const suppress = raised->suppress_context ? Py_True : Py_False;
  if (PyObject_TypeCheck(object, as_type(PyExc_BaseExceptionGroup))) {
    // The exceptions of a group are apart from its args, which may be a list that has changed since, or a subclass's
    // own arguments.
    auto* group = reinterpret_cast<PyBaseExceptionGroupObject*>(object);
    Ref parts = Ref::made(PyTuple_Pack(2, group->msg, group->excs));
    keep_alive_.push_back(parts);
    return call(rebuild_exception_callable(), {type, parts.get(), attributes.get(), part(cause), part(context),
                                               suppress, part(traceback), raised->args});
  }
  return call(rebuild_exception_callable(),
              {type, raised->args, attributes.get(), part(cause), part(context), suppress, part(traceback)});
}

// Iterators and the like, taken apart by their own __reduce__.
ValueId ValuePlanner::reduced(PyObject* object) {
  const std::string what = std::string("a ") + Py_TYPE(object)->tp_name + " leaves the trace";
  Ref parts = Ref::steal(PyObject_CallMethod(object, "__reduce_ex__", "i", 2));
  const Py_ssize_t count = parts && PyTuple_Check(parts.get()) ? PyTuple_GET_SIZE(parts.get()) : 0;
  if (count < 2 || count > 3 || !PyTuple_Check(PyTuple_GET_ITEM(parts.get(), 1))) {
    clear_error();
    return refuse(what);
  }
  PyObject* callable = PyTuple_GET_ITEM(parts.get(), 0);
  PyObject* arguments = PyTuple_GET_ITEM(parts.get(), 1);
  if (!PyType_Check(callable) && !PyCFunction_Check(callable)) return refuse(what);
  keep_alive_.push_back(parts);
  // Over an instance of a Python class: that may have an __iter__ of its own, which did not make this one.
  PyObject* iterable = PyTuple_GET_SIZE(arguments) == 1 ? PyTuple_GET_ITEM(arguments, 0) : nullptr;
  const bool is_subclass = iterable && is_python_class(Py_TYPE(iterable)) && native_base(Py_TYPE(iterable))->tp_iter;
  const ValueId made = callable == "builtins.iter"_imported && is_subclass
                           ? call(native_iterator_callable(), {iterable})
                           : call(rebuild_object_callable(), {callable, arguments});
  if (made != kNoValue && count == 3 && PyTuple_GET_ITEM(parts.get(), 2) != Py_None)
    states_.emplace_back(object, PyTuple_GET_ITEM(parts.get(), 2));
  return made;
}

// In the state that it has now.
ValueId ValuePlanner::native_object(PyObject* object) {
  // A tensor may share the memory of an array that is not to be used any more.
  Ref parts = tracer_.world.is_opaque(object) ? Ref() : native_object_state(object);
  clear_error();
  if (!parts) return refuse(std::string("a ") + Py_TYPE(object)->tp_name + " leaves the trace");
  return add({PlanStep::Kind::Call,
              Ref::borrow(native_object_callable()),
              0,
              {constant(PyTuple_GET_ITEM(parts.get(), 0)), constant(PyTuple_GET_ITEM(parts.get(), 1))}});
}

ValueId ValuePlanner::fake_array(PyObject* object) {
  PyObject* const is_scalar = is_traced_scalar(object) ? Py_True : Py_False;
  return call(array_of_tensor_callable(), {elements_of_array(object), is_scalar});
}

// Put where it stood: it may be behind the end of a list that has become shorter, which may grow again.
ValueId ValuePlanner::list_iterator(PyObject* object) {
  const Ref index = Ref::made(PyLong_FromSsize_t(list_iterator_index(object)));
  keep_alive(index);
  if (!Py_IS_TYPE(object, &PyListRevIter_Type))
    return call(placed_list_iterator_callable(), {iterated_container(object), index.get()});
  return call(placed_list_iterator_callable(), {iterated_container(object), index.get(), Py_True});
}

// Made over the dict again, so that it notices changes of its size.
ValueId ValuePlanner::dict_iterator(PyObject* object) {
  const DictIteration at = look_at_dict_iterator(object);
  if (!at.dict) return reduced(object);
  if (!write_before_iterating(at.dict)) return kNoValue;
  const ValueId view = call(view_method(Py_TYPE(object)).get(), {at.dict});
  if (view == kNoValue || !fill_now(at.dict)) return kNoValue;
  std::vector<ValueId> operands = {view};
  for (const Py_ssize_t number : {at.passed, at.beyond, at.size, at.left})
    operands.push_back(constant(Ref::made(PyLong_FromSsize_t(number)).get()));
  return add({PlanStep::Kind::Call, Ref::borrow(placed_iterator_callable()), 0, std::move(operands)});
}

// Walked to where it stands, over the dict as it was before the call or as the residual code makes it.
ValueId ValuePlanner::ordered_dict_iterator(PyObject* object) {
  const OrderedDictIteration at = look_at_ordered_dict_iterator(object);
  if (!at.dict) return reduced(object);  // it has ended
  ShadowContainer* shadow = tracer_.world.shadow(at.dict);
  if (shadow && tracer_.world.is_changed(*shadow))
    return refuse("an iterator over an OrderedDict that changed leaves the trace");
  Ref rest = Ref::steal(PyObject_CallMethod(object, "__reduce__", nullptr));
  PyObject* arguments = rest && PyTuple_Check(rest.get()) && PyTuple_GET_SIZE(rest.get()) == 2
                            ? PyTuple_GET_ITEM(rest.get(), 1)
                            : nullptr;
  PyObject* items = arguments && PyTuple_Check(arguments) && PyTuple_GET_SIZE(arguments) == 1
                        ? PyTuple_GET_ITEM(arguments, 0)
                        : nullptr;
  if (!items || !PyList_Check(items)) {  // the dict has changed under it
    clear_error();
    return refuse("an iterator over an OrderedDict that changed leaves the trace");
  }
  const ValueId view = call(view_method(at.view).get(), {at.dict});
  const Ref passed = Ref::made(PyLong_FromSsize_t(PyDict_GET_SIZE(at.dict) - PyList_GET_SIZE(items)));
  if (view == kNoValue || !fill_now(at.dict)) return kNoValue;
  if (!at.is_forward) return walked_backwards(view, PyLong_AsSsize_t(passed.get()));
  const ValueId place = constant(passed.get());
  return add({PlanStep::Kind::Call, Ref::borrow(walked_iterator_callable()), 0, {view, place}});
}

ValueId ValuePlanner::walked_backwards(ValueId view, Py_ssize_t passed) {
  const Ref number = Ref::made(PyLong_FromSsize_t(passed));
  const ValueId made = add({PlanStep::Kind::Call, Ref::borrow(as_object(&PyReversed_Type)), 0, {view}});
  const ValueId count = constant(number.get());
  add({PlanStep::Kind::CallEffect, Ref::borrow(advance_iterator_callable()), 0, {made, count}});
  return made;
}

// An iterator notices what is done to its container: that is written before, if the trace has changed it.
bool ValuePlanner::write_before_iterating(PyObject* container) {
  ShadowContainer* shadow = tracer_.world.shadow(container);
  if (!shadow || !tracer_.world.is_changed(*shadow)) return true;
  if (tracer_.effects.has_calls())
    return refuse("an iterator over a container that changed outlives a call of a cached function") != kNoValue;
  if (begin_writing(*shadow)) return write_now && write_now(*shadow);
  return !being_written.count(shadow) ||
         refuse("an iterator over a container that holds it leaves the trace") != kNoValue;
}

ValueId ValuePlanner::dict_iterator_backwards(PyObject* object) {
  const WalkedIteration at = look_at_dict_iterator_backwards(object);
  if (at.is_stale) return refuse("an iterator over a dict that changed since leaves the trace");
  if (!at.container) {
    const ValueId empty = add({PlanStep::Kind::Dict});
    const ValueId view = add({PlanStep::Kind::Call, view_method(Py_TYPE(object)), 0, {empty}});
    return walked_backwards(view, 0);
  }
  if (!write_before_iterating(at.container)) return kNoValue;
  const ValueId view = call(view_method(Py_TYPE(object)).get(), {at.container});
  return view == kNoValue || !fill_now(at.container) ? kNoValue : walked_backwards(view, at.passed);
}

ValueId ValuePlanner::deque_iterator(PyObject* object) {
  const WalkedIteration at = look_at_deque_iterator(object);
  const bool is_filled_at_once = Py_IS_TYPE(at.container, known_types()->deque) || tracer_.world.shadow(at.container);
  if (at.is_stale || !is_filled_at_once) return refuse("an iterator over a deque that changed since leaves the trace");
  if (!write_before_iterating(at.container)) return kNoValue;
  const Ref passed = Ref::made(PyLong_FromSsize_t(at.passed));
  keep_alive(passed);
  if (value_of(at.container) == kNoValue || !fill_now(at.container)) return kNoValue;
  return call(as_object(Py_TYPE(object)), {at.container, passed.get()});
}

ValueId ValuePlanner::iterator_of_itertools(PyObject* object) {
  const Ref fields = fields_of(object);
  if (!fields) return refuse(std::string("a ") + Py_TYPE(object)->tp_name + " leaves the trace");
  keep_alive(fields);
  return call(rebuild_iterator_callable(), {as_object(Py_TYPE(object)), fields.get()});
}

// Walked to where it stands, over a set that iterates in the same order: one from before the call, or one that is made
// again as it was. Over one from before the call that has changed, which may have its items in another order by then:
// over a set like the one that the trace has walked, or else a list of what is left.
ValueId ValuePlanner::set_iterator(PyObject* object) {
  const SetIteration at = look_at_set_iterator(object);
  if (at.is_stale) return refuse("an iterator over a set that changed its size since leaves the trace");
  if (!at.set) {
    const Ref nothing = Ref::made(PyFrozenSet_New(nullptr)), one_step = Ref::made(PyLong_FromLong(1));
    const ValueId empty = constant(nothing.get()), past_its_end = constant(one_step.get());
    return add({PlanStep::Kind::Call, Ref::borrow(walked_iterator_callable()), 0, {empty, past_its_end}});
  }
  const ShadowContainer* shadow = tracer_.world.shadow(at.set);
  const bool is_from_before = shadow || tracer_.world.source_of(at.set);
  const bool keeps_order =
      is_from_before ? !shadow || !tracer_.world.is_changed(*shadow) : is_table_in_order(at.set) || is_template(at.set);
  if (!keeps_order && !is_template(at.set)) return reduced(object);
  const ValueId set = keeps_order ? value_of(at.set) : set_like(at.set);
  if (set == kNoValue || (keeps_order && !fill_now(at.set))) return kNoValue;
  const Ref passed = Ref::made(PyLong_FromSsize_t(at.passed));
  const ValueId place = constant(passed.get());
  return add({PlanStep::Kind::Call, Ref::borrow(walked_iterator_callable()), 0, {set, place}});
}

ValueId ValuePlanner::dict_view(PyObject* object) {
  return call(view_method(Py_TYPE(object)).get(), {dict_of_view(object)});
}

ValueId ValuePlanner::generator(PyObject* object) {
  Frame* frame = frame_of_generator(object);
  if (!frame) return refuse("a generator that is finished or running leaves the trace");
  const OriginalPosition at = original_position(*frame);
  const bool started = frame->current().op != Op::RETURN_GENERATOR;
  const ResumePlace place{started ? ResumePlace::Kind::Suspended : ResumePlace::Kind::NotStarted, at.instruction};
  const ResumeFunction* resume = resume_function(*at.prepared, place, passed_locals(*frame, at, place));
  if (!resume) {
    clear_error();
    return refuse("a generator");
  }
  std::vector<ValueId> arguments;
  for (const ResumeParameter& parameter : resume->parameters) {
    if (parameter.kind == ResumeParameter::Kind::Handled) return refuse("a generator suspended in an except clause");
    const bool is_local = parameter.kind == ResumeParameter::Kind::Local;
    arguments.push_back(
        slot_value(*frame, is_local ? at.local(parameter.index) : frame->prepared->locals_count + parameter.index));
    if (arguments.back() == kNoValue) return kNoValue;
  }
  auto* maker = as_function(frame->function.get());
  const ValueId code = constant(as_object(resume->code)), globals = names(frame->globals.get());
  const ValueId function = add({PlanStep::Kind::Call, Ref::borrow(make_function_callable()), 0, {code, globals}}),
                tuple = add({PlanStep::Kind::Tuple, nullptr, 0, std::move(arguments)}),
                has_started = constant(started ? Py_True : Py_False), name = constant(maker->func_name),
                qualname = constant(maker->func_qualname);
  return add({PlanStep::Kind::Call,
              Ref::borrow(rebuild_generator_callable()),
              0,
              {function, tuple, has_started, name, qualname}});
}

}  // namespace minidynamo
