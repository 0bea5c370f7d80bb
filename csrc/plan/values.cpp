#include "plan/values.h"

#include "emit/rebuild.h"
#include "library/contextvars.h"
#include "model/exception_context.h"
#include "model/generator.h"
#include "model/native_callback.h"
#include "model/object_end.h"
#include "model/reported_type.h"
#include "python/bound_method.h"
#include "python/iterators.h"
#include "python/mapping_proxy.h"
#include "python/nesting.h"
#include "python/numpy_scalar.h"
#include "python/out_of_memory.h"
#include "python/set_table.h"
#include "python/type_version.h"
#include "python/unstable.h"
#include "tensor/tensor_facts.h"
#include "world/enter.h"
#include "world/handled_before.h"
#include "world/known_types.h"
#include "world/native_objects.h"
#include "world/scope.h"
#include "world/types.h"

namespace minidynamo {
namespace {

constexpr int kMostRestarts = 4;       // after which all that can be is made empty first, cycle or not
constexpr size_t kMostSteps = 20'000;  // of a plan: each is code that every call runs

bool is_dict_view(PyTypeObject* type) noexcept {
  return type == &PyDictKeys_Type || type == &PyDictValues_Type || type == &PyDictItems_Type;
}

// The method of dict that gives a view, or the view under an iterator, of the type.
Ref view_method(PyTypeObject* type) {
  if (type == &PyDictKeys_Type || type == &PyDictIterKey_Type) return import_object("builtins.dict.keys");
  if (type == &PyDictValues_Type || type == &PyDictIterValue_Type) return import_object("builtins.dict.values");
  return import_object("builtins.dict.items");
}

// Can be made empty first and filled later.
bool can_be_filled(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  return type == &PyList_Type || type == &PyDict_Type || type == &PySet_Type || type == &PyCell_Type ||
         can_be_made_empty(type);
}

}  // namespace

ValueId ValuePlanner::refuse(std::string what) {
  if (refusal_.empty()) refusal_ = std::move(what);
  return kNoValue;
}

void ValuePlanner::start_again() {
  ++restarts_;
  found_cycle_ = false;
  plan_ = Plan{};
  outputs_.clear();
  values_.clear();
  live_values_.clear();
  output_index_.clear();
  live_.clear();
  building_.clear();
  to_fill_.clear();
  watched_.clear();
  states_.clear();
  written_.clear();
  moved_.clear();
  written_objects_.clear();
}

ValueId ValuePlanner::add(PlanStep step) {
  plan_.steps.push_back(std::move(step));
  return static_cast<ValueId>(plan_.steps.size() - 1);
}

ValueId ValuePlanner::constant(PyObject* object) { return add({PlanStep::Kind::Constant, Ref::borrow(object)}); }

ValueId ValuePlanner::value_of(PyObject* object) {
  if (auto known = values_.find(object); known != values_.end()) return known->second;
  const Ref held = Ref::borrow(object);  // asking for its parts may run code
  NestingLevel level;
  if (level.is_too_deep()) return refuse("an object is nested too deep");
  if (plan_.steps.size() > kMostSteps) return refuse("too many objects leave the trace");
  for (size_t i = 0; i < building_.size(); ++i) {
    if (building_[i] != object) continue;
    size_t marked = 0;
    for (size_t k = i; k < building_.size(); ++k)
      if (can_be_filled(building_[k])) marked += cyclic_.insert(building_[k]).second;
    if (!marked) return refuse("an object contains itself");
    found_cycle_ = true;
    return kNoValue;
  }
  ValueId value;
  if (cyclic_.count(object) || (restarts_ > kMostRestarts && can_be_filled(object))) {
    value = make_empty(object);
    to_fill_.push_back(object);
  } else {
    building_.push_back(object);
    value = make_value(object);
    building_.pop_back();
  }
  if (value == kNoValue) return kNoValue;
  values_.emplace(object, value);
  keep_alive_.push_back(Ref::borrow(object));
  return value;
}

bool ValuePlanner::is_planned(PyObject* object) const {
  if (PyCell_Check(object) && PyCell_GET(object)) object = PyCell_GET(object);
  return values_.count(object) > 0 || expected_.count(object) > 0;
}

std::vector<bool> ValuePlanner::passed_locals(const Frame& frame, const OriginalPosition& at, ResumePlace place) {
  std::vector<bool> passed;
  for (int32_t local = 0; local < at.prepared->locals_count; ++local) {
    const int32_t slot = at.local(local);
    PyObject* held = frame.has_untouched(slot) ? frame.untouched[slot].raw : frame.slots[slot].get();
    if (!held || is_read_after(*at.prepared, place, local))
      passed.push_back(held != nullptr);
    else
      passed.push_back(
          !is_tensor(held) && !is_constant(held) &&
          (frame.has_untouched(slot) || tracer_.world.source_of(held) || is_planned(held) || end_may_be_seen(held)));
  }
  return passed;
}

ValueId ValuePlanner::slot_value(Frame& frame, size_t slot) {
  const auto locals = static_cast<size_t>(frame.prepared->locals_count);
  if (slot < locals && frame.has_untouched(static_cast<int32_t>(slot)))
    return live(source_of_untouched(tracer_, frame, static_cast<int32_t>(slot)));
  if (const Frame::UntouchedSlot* waiting = frame.untouched_in(slot)) return live(waiting->source);
  return value_of(frame.slots[slot].get());
}

void ValuePlanner::define(PyObject* object, PyObject* callable, PyObject* argument) {
  keep_alive_.push_back(Ref::borrow(object));
  values_[object] = call(callable, {argument});
}

ValueId ValuePlanner::outside_value(PyObject* object, Source* source) {
  // An object that its guard fixes is a constant of the residual code.
  if (PyType_Check(object) || PyModule_Check(object) || (PyCFunction_Check(object) && is_guarded_by_identity(object)) ||
      (PyFunction_Check(object) && is_guarded_by_identity(object)))
    return constant(object);
  return live(source);
}

// Whether it is a number that id() gave, or a constant tuple or set with one.
bool ValuePlanner::holds_identity(PyObject* object) const {
  if (tracer_.identities.count(Ref::borrow(object))) return true;
  if (PyTuple_CheckExact(object)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i)
      if (holds_identity(PyTuple_GET_ITEM(object, i))) return true;
  } else if (PyFrozenSet_CheckExact(object)) {
    Py_ssize_t position = 0;
    PyObject* item;
    Py_hash_t hash;
    while (next_in_set(object, position, item, hash))
      if (holds_identity(item)) return true;
  }
  return false;
}

ValueId ValuePlanner::make_value(PyObject* object) {
  if (tracer_.classes.has(object)) {
    tracer_.classes.need(object);
    return refuse("a class that the function defines outlives the capture");
  }
  if (const LaterCall* cache = tracer_.effects.cache_behind(object)) {
    PyObject* keywords = cache->keywords ? cache->keywords.get() : Py_None;
    return call(call_with_callable(), {cache->callable.get(), cache->positional.get(), keywords});
  }
  if (Source* source = tracer_.world.source_of(object)) return outside_value(object, source);
  static constinit Imported handled{"sys.exception"};  // residual code runs where the trace began
  if (was_handled_before(object)) return call(handled, {});
  if (!tracer_.identities.empty() && holds_identity(object)) return refuse("an object's id() leaves the trace");
  if (is_native_value(object) && holds_native_value(object)) return native_object(object);
  if (is_constant(object) && !holds_native_value(object)) return constant(object);
  if (is_numpy_scalar(object)) {  // a new one each time
    static constinit Imported copy{"numpy.generic.copy"};
    return add({PlanStep::Kind::Call, Ref::borrow(copy), 0, {constant(object)}});
  }
  if (is_fake(object)) return output(object);
  if (is_native_callback(object)) return value_of(behind_callback(object));
  if (PyCFunction_Check(object)) return bound_native_method(object);
  PyTypeObject* type = Py_TYPE(object);
  if (PyType_Check(object)) return constant(reinterpret_cast<PyObject*>(shown_class(object)));
  if (PyModule_Check(object) || PyCode_Check(object) || type == &PyMethodDescr_Type || type == &PyWrapperDescr_Type ||
      type == &PyTraceBack_Type)
    return constant(object);
  if (type == &PyTuple_Type) return sequence(PlanStep::Kind::Tuple, object);
  if (type == &PyList_Type) return sequence(PlanStep::Kind::List, object);
  if (type == &PyDict_Type) {
    PyObject* owner = tracer_.owner_of_dict(object);
    static PyObject* const dict_name = interned("__dict__");
    static PyObject* const annotations_name = interned("__annotations__");
    static constinit Imported getattr{"builtins.getattr"};
    if (owner && PyType_Check(owner))
      return PyDict_GET_SIZE(object) ? refuse("annotations that are put into a class")
                                     : call(getattr, {owner, annotations_name});
    return owner ? call(getattr, {owner, dict_name}) : dict(object);
  }
  if (type == &PySet_Type || type == &PyFrozenSet_Type) return set(object);
  if (type == &PySlice_Type) {
    auto* slice = reinterpret_cast<PySliceObject*>(object);
    return with_operands(PlanStep::Kind::Slice, {slice->start, slice->stop, slice->step});
  }
  if (type == &PyMethod_Type) return bound_method(PyMethod_GET_FUNCTION(object), PyMethod_GET_SELF(object));
  if (type == &_PyMethodWrapper_Type) return bound_native_method(object);
  if (PyFunction_Check(object)) return function(object);
  if (type == &PyCell_Type) return cell(object);
  if (is_traced_generator(object)) return generator(object);
  if (type == known_types()->partial) return partial(object);
  if (PyExceptionInstance_Check(object)) return exception(object);
  if (is_rebuildable(type) && !is_own_native_type(type)) return instance(object);
  if (PyTuple_Check(object)) return named_tuple(object);
  if (is_dict_view(type)) return dict_view(object);
  if (type == &PyProperty_Type) return property(object);
  if (type == &_PyWeakref_RefType) return weak_reference(object);
  if (is_context_token(object)) return context_token(object);
  if (type == &PyBaseObject_Type) return call(reinterpret_cast<PyObject*>(type), {});
  static constinit Imported union_type{"types.UnionType"};
  if (reinterpret_cast<PyObject*>(type) == union_type) {
    static constinit Imported join{"functools.reduce"};
    static constinit Imported unite{"operator.or_"};
    Ref members = Ref::made(PyObject_GetAttrString(object, "__args__"));
    keep_alive_.push_back(members);
    const ValueId step = value_of(members.get());
    return step == kNoValue ? kNoValue : add({PlanStep::Kind::Call, Ref::borrow(join), 0, {constant(unite), step}});
  }
  if (type == &PyDictProxy_Type) return call(reinterpret_cast<PyObject*>(type), {proxied_mapping(object)});
  if (type == &PyStaticMethod_Type || type == &PyClassMethod_Type) {
    Ref function = Ref::made(PyObject_GetAttrString(object, "__func__"));
    keep_alive_.push_back(function);
    return call(reinterpret_cast<PyObject*>(type), {function.get()});
  }
  if (type == &PySuper_Type) {
    Ref after = Ref::made(PyObject_GetAttrString(object, "__thisclass__"));
    Ref self = Ref::made(PyObject_GetAttrString(object, "__self__"));
    return call(reinterpret_cast<PyObject*>(&PySuper_Type), {after.get(), self.get()});
  }
  if (type == known_types()->deque) {
    Ref items = Ref::made(PySequence_List(object)), limit = Ref::made(PyObject_GetAttrString(object, "maxlen"));
    keep_alive_.push_back(items);
    keep_alive_.push_back(limit);
    return call(reinterpret_cast<PyObject*>(type), {items.get(), limit.get()});
  }
  if (type == known_types()->default_dict) {
    Ref items = Ref::made(PyDict_Copy(object)), factory = Ref::made(PyObject_GetAttrString(object, "default_factory"));
    keep_alive_.push_back(items);
    keep_alive_.push_back(factory);
    return call(reinterpret_cast<PyObject*>(type), {factory.get(), items.get()});
  }
  if (type == &PyByteArray_Type) {
    Ref bytes = Ref::steal(PyBytes_FromObject(object));
    keep_alive_.push_back(bytes);
    return call(reinterpret_cast<PyObject*>(&PyByteArray_Type), {bytes.get()});
  }
  if (is_dict_iterator(type)) return dict_iterator(object);
  if (type == &PyListIter_Type && iterated_container(object)) return list_iterator(object);
  if (is_own_native(object)) return native_object(object);
  if (is_plain_builtin_type(type)) return reduced(object);
  return refuse(std::string("a ") + type->tp_name + " leaves the trace");
}

ValueId ValuePlanner::make_empty(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  if (type == &PyList_Type) return add({PlanStep::Kind::List});
  if (type == &PyDict_Type) return add({PlanStep::Kind::Dict});
  if (type == &PySet_Type) return add({PlanStep::Kind::Set});
  if (type == &PyCell_Type) return call(reinterpret_cast<PyObject*>(&PyCell_Type), {});
  const ValueId own_type = value_of(reinterpret_cast<PyObject*>(type));
  if (own_type == kNoValue) return kNoValue;
  const ValueId none = constant(Py_None), attributes = add({PlanStep::Kind::Dict});
  return add({PlanStep::Kind::Call, Ref::borrow(rebuild_instance_callable()), 0, {own_type, none, attributes}});
}

bool ValuePlanner::fill_cycles() {
  while (!to_fill_.empty()) {
    PyObject* object = to_fill_.back();
    to_fill_.pop_back();
    if (!fill(object)) return false;
  }
  return true;
}

bool ValuePlanner::set_states() {
  for (size_t i = 0; i < states_.size(); ++i) {
    const auto [object, state] = states_[i];
    if (!effect(set_state_callable(), {object, state})) return false;
  }
  return true;
}

bool ValuePlanner::fill(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  auto with_copy = [&](const char* method, PyObject* made) {
    Ref copy = Ref::steal(made);
    keep_alive_.push_back(copy);
    return effect(method, {object, copy.get()});
  };
  if (type == &PyList_Type) return with_copy("builtins.list.extend", PySequence_List(object));
  if (type == &PyDict_Type) return with_copy("builtins.dict.update", PyDict_Copy(object));
  if (type == &PySet_Type) return with_copy("builtins.set.update", PySet_New(object));  // with the hashes it knows
  if (type == &PyCell_Type) {
    static PyObject* const contents_name = interned("cell_contents");
    PyObject* contents = PyCell_GET(object);
    return !contents || effect("builtins.setattr", {object, contents_name, contents});
  }
  Ref parts = instance_parts(object);
  if (!parts) {
    clear_error();
    return refuse(std::string("an instance of ") + type->tp_name) != kNoValue;
  }
  keep_alive_.push_back(parts);
  return effect(fill_instance_callable(), {object, PyTuple_GET_ITEM(parts.get(), 0), PyTuple_GET_ITEM(parts.get(), 1)});
}

ValueId ValuePlanner::live(Source* source) {
  if (auto known = live_values_.find(source); known != live_values_.end()) return known->second;
  const ValueId value = add({PlanStep::Kind::Live});
  live_.emplace_back(value, source);
  live_values_.emplace(source, value);
  return value;
}

ValueId ValuePlanner::output(PyObject* fake) {
  const NodeId node = tracer_.graph.producer(fake);
  if (node == kNoNode) return refuse("a tensor whose origin the graph does not know");
  auto [entry, added] = output_index_.try_emplace(node, static_cast<uint32_t>(outputs_.size()));
  if (added) outputs_.push_back(node);
  return add({PlanStep::Kind::Output, nullptr, entry->second});
}

ValueId ValuePlanner::with_operands(PlanStep::Kind kind, std::initializer_list<PyObject*> operands) {
  PlanStep step{kind};
  for (PyObject* operand : operands) {
    step.operands.push_back(value_of(operand));
    if (step.operands.back() == kNoValue) return kNoValue;
  }
  return add(std::move(step));
}

ValueId ValuePlanner::call(PyObject* callable, std::initializer_list<PyObject*> arguments) {
  const ValueId value = with_operands(PlanStep::Kind::Call, arguments);
  if (value != kNoValue) plan_.steps[value].object = Ref::borrow(callable);
  return value;
}

bool ValuePlanner::effect(PyObject* callable, std::initializer_list<PyObject*> arguments) {
  const ValueId step = with_operands(PlanStep::Kind::CallEffect, arguments);
  if (step == kNoValue) return false;
  plan_.steps[step].object = Ref::borrow(callable);
  return true;
}

bool ValuePlanner::effect(const char* callable_path, std::initializer_list<PyObject*> arguments) {
  return effect(import_object(callable_path).get(), arguments);
}

ValueId ValuePlanner::weak_reference(PyObject* object) {
  PyObject* callback = reinterpret_cast<PyWeakReference*>(object)->wr_callback;
  PyObject* made_by = reinterpret_cast<PyObject*>(Py_TYPE(object));
  PyObject* referent = PyWeakref_GET_OBJECT(object);
  if (!callback) return call(made_by, {referent});
  const ValueId made = call(made_by, {referent, callback});
  if (made != kNoValue) watched_.emplace_back(made, plan_.steps[made].operands[0]);
  return made;
}

bool ValuePlanner::watched_are_held() {
  std::unordered_set<ValueId> held, references;
  for (const auto& [reference, referent] : watched_) references.insert(reference);
  for (ValueId id = 0; id < plan_.steps.size(); ++id)
    if (!references.count(id)) held.insert(plan_.steps[id].operands.begin(), plan_.steps[id].operands.end());
  if (plan_.end) each_value(*plan_.end, [&](ValueId value) { held.insert(value); });
  for (const auto& [reference, referent] : watched_)
    if (!held.count(referent) && plan_.steps[referent].kind == PlanStep::Kind::Call)
      return refuse("an object that only a weak reference leads to leaves the trace") != kNoValue;
  return true;
}

bool ValuePlanner::generators_are_held() {
  for (PyObject* generator : tracer_.generators)
    if (runs_when_dropped(generator) && !is_planned(generator))
      return refuse("a generator that is suspended inside of try is dropped") != kNoValue;
  return true;
}

// Made by setting the variable, after what the trace set it to before.
ValueId ValuePlanner::context_token(PyObject* token) {
  static constinit Imported set_variable{"contextvars.ContextVar.set"};
  const std::vector<const ContextSet*> sets = tracer_.effects.sets_until(token);
  if (sets.empty()) return refuse("a token of a ContextVar that was reset leaves the trace");
  if (tracer_.effects.has_calls()) return refuse("a token of a ContextVar outlives a call of a cached function");
  for (size_t i = 0; i + 1 < sets.size(); ++i)
    if (value_of(sets[i]->token.get()) == kNoValue) return kNoValue;
  const ContextSet* own = sets.back();
  return call(set_variable, {own->variable.get(), own->value.get()});
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
  return add(
      {PlanStep::Kind::Call, Ref::borrow(reinterpret_cast<PyObject*>(&PyList_Type)), 0, {constant(items.get())}});
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
    if (holds_identity(item) || tracer_.classes.has(item) ||
        !(is_constant(item) || (tracer_.world.source_of(item) && is_guarded_by_identity(item))))
      return false;
  return true;
}

ValueId ValuePlanner::set(PyObject* object) {
  if (!is_table_in_order(object) && is_template(object)) {
    Ref as_it_is = set_with_table_of(object);
    return add({PlanStep::Kind::Call, Ref::borrow(set_like_callable()), 0, {constant(as_it_is.get())}});
  }
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
  return add({PlanStep::Kind::Call, Ref::borrow(reinterpret_cast<PyObject*>(&PyFrozenSet_Type)), 0, {items}});
}

ValueId ValuePlanner::cell(PyObject* object) {
  PyObject* type = reinterpret_cast<PyObject*>(&PyCell_Type);
  PyObject* contents = PyCell_GET(object);
  return contents ? call(type, {contents}) : call(type, {});
}

// The names of a module, as the functions defined there have them.
ValueId ValuePlanner::names(PyObject* globals) {
  if (tracer_.own_namespaces.count(Ref::borrow(globals))) return value_of(globals);
  Source* known = tracer_.world.source_of(globals);
  return live(known ? known : tracer_.guards.pinned(globals, "G"));
}

ValueId ValuePlanner::function(PyObject* object) {
  // From outside, by way of C code that gave it unguarded: a copy would be another function.
  if (!tracer_.made_functions.count(Ref::borrow(object))) return refuse("a function that native code found");
  auto* made = reinterpret_cast<PyFunctionObject*>(object);
  auto part = [](PyObject* value) { return value ? value : Py_None; };
  Ref own = Ref::borrow(made->func_dict && PyDict_GET_SIZE(made->func_dict) ? made->func_dict : Py_None);
  values_.try_emplace(made->func_code, constant(made->func_code));
  if (!values_.count(made->func_globals) && !tracer_.own_namespaces.count(Ref::borrow(made->func_globals)))
    values_.emplace(made->func_globals, names(made->func_globals));
  return call(rebuild_function_callable(),
              {made->func_code, made->func_globals, made->func_name, part(made->func_defaults),
               part(made->func_kwdefaults), part(made->func_closure), part(made->func_annotations), made->func_qualname,
               own.get(), part(made->func_module), part(made->func_doc)});
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
  if (!is_descriptor) return call(reinterpret_cast<PyObject*>(&PyMethod_Type), {function, self});
  if (!shown_type(self)) return call(bind_callable(), {function, self});
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

ValueId ValuePlanner::named_tuple(PyObject* object) {
  Ref items = Ref::made(PyTuple_New(PyTuple_GET_SIZE(object)));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i)
    PyTuple_SET_ITEM(items.get(), i, Ref::borrow(PyTuple_GET_ITEM(object, i)).release());
  keep_alive_.push_back(items);
  return call(rebuild_tuple_callable(), {reinterpret_cast<PyObject*>(Py_TYPE(object)), items.get()});
}

ValueId ValuePlanner::property(PyObject* object) {
  Ref parts[4];
  const char* const names[] = {"fget", "fset", "fdel", "__doc__"};
  for (int i = 0; i < 4; ++i) {
    parts[i] = Ref::steal(PyObject_GetAttrString(object, names[i]));
    if (!parts[i]) return clear_error(), refuse("a property");
    keep_alive_.push_back(parts[i]);
  }
  PyObject* type = reinterpret_cast<PyObject*>(&PyProperty_Type);
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
  return call(rebuild_instance_callable(), {reinterpret_cast<PyObject*>(Py_TYPE(object)),
                                            PyTuple_GET_ITEM(parts.get(), 0), PyTuple_GET_ITEM(parts.get(), 1)});
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
  PyObject* const type = reinterpret_cast<PyObject*>(Py_TYPE(object));
  PyObject* const suppress = raised->suppress_context ? Py_True : Py_False;
  if (PyObject_TypeCheck(object, reinterpret_cast<PyTypeObject*>(PyExc_BaseExceptionGroup))) {
    // What it holds is apart from its args, which may be a list that has changed since, or what a subclass takes.
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
  static constinit Imported iter{"builtins.iter"};
  PyObject* iterable = PyTuple_GET_SIZE(arguments) == 1 ? PyTuple_GET_ITEM(arguments, 0) : nullptr;
  const bool is_subclass = iterable && is_python_class(Py_TYPE(iterable)) && native_base(Py_TYPE(iterable))->tp_iter;
  const ValueId made = callable == iter && is_subclass ? call(native_iterator_callable(), {iterable})
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

// Put where it stood: it may be behind the end of a list that has become shorter.
ValueId ValuePlanner::list_iterator(PyObject* object) {
  const Ref index = Ref::made(PyLong_FromSsize_t(list_iterator_index(object)));
  keep_alive(index);
  return call(placed_list_iterator_callable(), {iterated_container(object), index.get()});
}

// Made over the dict again, so that it notices changes of its size.
ValueId ValuePlanner::dict_iterator(PyObject* object) {
  const DictIteration at = look_at_dict_iterator(object);
  StandIn* stand_in = at.dict ? tracer_.world.stand_in(at.dict) : nullptr;
  const bool is_written = stand_in && stand_in->filled && tracer_.world.is_changed(*stand_in);
  if (is_written && tracer_.effects.has_calls())
    return refuse("an iterator over a dict that changed outlives a call of a cached function");
  if (!at.dict) return reduced(object);
  // The dict first, as it is now.
  if (is_written && written_.insert(stand_in).second && !(write_now && write_now(*stand_in))) return kNoValue;
  const ValueId view = call(view_method(Py_TYPE(object)).get(), {at.dict});
  if (view == kNoValue) return kNoValue;
  std::vector<ValueId> operands = {view};
  for (const Py_ssize_t number : {at.passed, at.beyond, at.size, at.left})
    operands.push_back(constant(Ref::made(PyLong_FromSsize_t(number)).get()));
  return add({PlanStep::Kind::Call, Ref::borrow(placed_iterator_callable()), 0, std::move(operands)});
}

ValueId ValuePlanner::dict_view(PyObject* object) {
  return call(view_method(Py_TYPE(object)).get(),
              {reinterpret_cast<PyObject*>(reinterpret_cast<_PyDictViewObject*>(object)->dv_dict)});
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
  auto* maker = reinterpret_cast<PyFunctionObject*>(frame->function.get());
  const ValueId code = constant(reinterpret_cast<PyObject*>(resume->code)), globals = names(frame->globals.get());
  const ValueId function = add({PlanStep::Kind::Call, Ref::borrow(make_function_callable()), 0, {code, globals}}),
                tuple = add({PlanStep::Kind::Tuple, nullptr, 0, std::move(arguments)}),
                has_started = constant(started ? Py_True : Py_False), name = constant(maker->func_name),
                qualname = constant(maker->func_qualname);
  return add({PlanStep::Kind::Call,
              Ref::borrow(rebuild_generator_callable()),
              0,
              {function, tuple, has_started, name, qualname}});
}

void ValuePlanner::is_written_to(PyObject* object) {
  const Source* source = tracer_.world.source_of(object);
  if (source && source->access != Access::Pinned) written_objects_.insert(object);
}

// By type, since objects of two types are two objects.
void ValuePlanner::keep_written_apart() {
  struct Group {
    std::vector<Source*> written, others;
  };
  // What was changed and changed back looks as it was at the end, but not to what read it in between.
  for (const StandIn& stand_in : tracer_.world.stand_ins())
    if (stand_in.filled && may_have_been_changed(stand_in)) is_written_to(stand_in.object.get());
  std::unordered_map<PyTypeObject*, Group> groups;
  for (PyObject* object : written_objects_) groups[Py_TYPE(object)].written.push_back(tracer_.world.source_of(object));
  if (groups.empty()) return;
  tracer_.world.each_known([&](PyObject* object, Source* source) {
    const auto group = groups.find(Py_TYPE(object));
    if (group != groups.end() && source->access != Access::Pinned && !written_objects_.count(object))
      group->second.others.push_back(source);
  });
  for (auto& [type, group] : groups) tracer_.guards.keep_apart(std::move(group.written), std::move(group.others));
}

bool ValuePlanner::gather(std::vector<Source*>& inputs) {
  keep_written_apart();
  // The graph's inputs come first, in the order of its placeholders; Live steps index everything that is gathered.
  std::vector<uint32_t> slots;
  size_t calls = 0;
  for (const Node& node : tracer_.graph.nodes()) {
    if (!node.used) continue;
    if (node.kind != NodeKind::Placeholder) {
      calls += !node.sets_mode;
      continue;
    }
    Source* source = tracer_.world.source_of(node.example.get());
    if (static_cast<size_t>(node.input) >= inputs.size()) inputs.resize(node.input + 1);
    inputs[node.input] = source;
  }
  for (Source* source : inputs) slots.push_back(tracer_.guards.gather(source));
  // What is written to one input is written to those that share its storage, and a backend that makes the graph a
  // function of values relies on which these are.
  std::vector<bool> written(slots.size());
  for (const Node& node : tracer_.graph.nodes())
    if (node.used && node.kind == NodeKind::Placeholder)
      written[node.input] = tracer_.written_storages.count(storage_of_fake(node.example.get())) > 0;
  if (std::find(written.begin(), written.end(), true) != written.end()) {
    std::vector<PyObject*> tensors;
    for (Source* source : inputs) tensors.push_back(source->value.get());
    if (!StorageSharing::can_be_written(tensors, written)) return false;
    if (slots.size() > 1) tracer_.guards.storages(slots, std::move(written));
  }
  tracer_.guards.distinct(std::move(slots));
  if (tracer_.world.all_told_apart().size() > 1) {
    std::vector<uint32_t> different;
    for (Source* source : tracer_.world.all_told_apart()) different.push_back(tracer_.guards.gather(source));
    tracer_.guards.distinct(std::move(different));
  }
  for (const auto& [value, source] : live_) plan_.steps[value].index = tracer_.guards.gather(source);
  plan_.calls_graph = calls > 0;
  plan_.output_count = static_cast<uint32_t>(outputs_.size());
  return true;
}

}  // namespace minidynamo
