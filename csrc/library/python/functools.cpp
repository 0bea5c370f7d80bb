#include "library/python/functools.h"

#include "library/rules/handlers.h"

#include <algorithm>

#include "model/native/native_call.h"
#include "model/protocols/abstract.h"
#include "model/protocols/arguments.h"
#include "model/tensors/tensor_call.h"
#include "python/objects/lru_cache.h"
#include "python/objects/set_table.h"
#include "python/process/out_of_memory.h"
#include "python/version/dict_version.h"
#include "python/version/type_version.h"
#include "world/external/enter.h"
#include "world/external/pin.h"
#include "world/external/types.h"
#include "world/state/identity.h"

namespace minidynamo {
namespace {

// typing's caches of types made of types: what they hold can be told from what they would make by identity alone.
bool is_typing_cache(PyObject* callable) {
  Ref module = Ref::steal(PyObject_GetAttrString(callable, "__module__"));
  clear_error();
  return module && PyUnicode_Check(module.get()) && !PyUnicode_CompareWithASCIIString(module.get(), "typing");
}

// The referent of a weak reference without a callback, which hashes and compares as its referent does. Null: the object
// is no such reference, or its referent is dead.
PyObject* referent_of(PyObject* object) noexcept {
  if (!PyWeakref_CheckRefExact(object) || reinterpret_cast<PyWeakReference*>(object)->wr_callback) return nullptr;
  PyObject* referent = PyWeakref_GET_OBJECT(object);
  return referent == Py_None ? nullptr : referent;
}

// A class of the trace's own, a weak reference to one, or a tuple that has either in it.
bool holds_made_class(const Tracer& tracer, PyObject* object) {
  if (!tracer.classes.any()) return false;
  if (PyObject* referent = referent_of(object)) object = referent;
  if (tracer.classes.has(object)) return true;
  if (PyTuple_Check(object))
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i)
      if (holds_made_class(tracer, PyTuple_GET_ITEM(object, i))) return true;
  return false;
}

// True if an object was there before the trace, or is a constant.
bool existed_before_trace(Tracer& tracer, PyObject* object) {
  if (is_constant(object) || tracer.world.source_of(object)) return true;
  if (PyType_Check(object)) return is_static_class(as_type(object));
  if (!PyTuple_CheckExact(object)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i)
    if (!existed_before_trace(tracer, PyTuple_GET_ITEM(object, i))) return false;
  return true;
}

// An object that native code looks into must be the very same at the next call too.
void pin_down(Tracer& tracer, PyObject* object) {
  if (PyObject* referent = referent_of(object)) return pin_down(tracer, referent);
  if (is_constant(object)) return;
  Source* source = tracer.world.source_of(object);
  if (source && source->access != Access::Pinned) tracer.guards.add(source, GuardKind::Identity, tracer.origin());
  if (!PyTuple_CheckExact(object)) return;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i) pin_down(tracer, PyTuple_GET_ITEM(object, i));
}

Ref call_typing_cache(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  for (const Ref& value : arguments.values)
    if (holds_made_class(tracer, value.get()))
      return tracer.abort(BreakReason::ClassDefinition, "a class of the function's own goes into a cache of typing");
  for (const Ref& value : arguments.values)
    if (!existed_before_trace(tracer, value.get()))
      return tracer.abort(BreakReason::CachedEffect, "an object that the call made goes into a cache of typing");
  for (const Ref& value : arguments.values) pin_down(tracer, value.get());
  NativeScope native;
  Ref cached = call_natively(tracer, callable, arguments);
  if (cached && !is_constant(cached.get()) && !tracer.world.source_of(cached.get())) {
    source_or_pin(tracer, cached.get());
    tracer.effects.cached_by(cached.get(), {Ref::borrow(callable), arguments.positional(), arguments.keywords()});
  }
  return cached;
}

size_t size_of(PyObject* container) noexcept {
  if (PyDict_Check(container)) return static_cast<size_t>(PyDict_GET_SIZE(container));
  if (PyAnySet_Check(container)) return static_cast<size_t>(PySet_GET_SIZE(container));
  return PyList_Check(container) ? static_cast<size_t>(PyList_GET_SIZE(container)) : 0;
}

// The contents of all shadows at one time, to see whether a call has changed any. With too many elements to copy at
// each call, a look into any container counts as a change.
class ContainerStates {
 public:
  explicit ContainerStates(World& world) : world_(world), uses_(world.shadow_uses()) {
    constexpr size_t kMostElements = 1000;
    size_t count = 0;
    for (const ShadowContainer& shadow : world.shadows()) count += shadow.filled + size_of(shadow.object.get());
    is_copied_ = count <= kMostElements;
    for (const ShadowContainer& shadow : world.shadows())
      if (is_copied_ && differs_from_snapshot(shadow)) changed_.emplace(&shadow, HeldElements(shadow));
  }

  bool any_changed() const noexcept { return !changed_.empty(); }

  // True if anything has looked into a shadow since.
  bool were_used() const noexcept { return world_.shadow_uses() != uses_; }

  bool have_changed() const {
    if (!were_used()) return false;
    if (!is_copied_) return true;
    return std::any_of(world_.shadows().begin(), world_.shadows().end(), [&](const ShadowContainer& shadow) {
      const auto earlier = changed_.find(&shadow);
      if (earlier == changed_.end()) return differs_from_snapshot(shadow);
      return !holds_still(shadow, earlier->second);
    });
  }

 private:
  World& world_;
  const size_t uses_;
  bool is_copied_;
  std::unordered_map<const ShadowContainer*, HeldElements> changed_;
};

// True if an object will be the same whenever the residual code gets to it: what the trace made may change until its
// end, and is made again as it is then.
bool is_settled(Tracer& tracer, PyObject* object) {
  if (PyTuple_CheckExact(object)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i)
      if (!is_settled(tracer, PyTuple_GET_ITEM(object, i))) return false;
    return true;
  }
  if (PyObject* referent = referent_of(object)) return is_settled(tracer, referent);
  return is_constant(object) || is_guarded_by_identity(object) || tracer.world.source_of(object);
}

bool are_settled(Tracer& tracer, const std::vector<Ref>& objects) {
  return std::all_of(objects.begin(), objects.end(),
                     [&](const Ref& object) { return is_settled(tracer, object.get()); });
}

Ref copy_of(PyObject* container) {
  if (PyList_CheckExact(container)) return Ref::steal(PyList_GetSlice(container, 0, PyList_GET_SIZE(container)));
  if (PyDict_CheckExact(container)) return Ref::made(PyDict_Copy(container));
  if (PySet_CheckExact(container)) return set_with_table_of(container);
  return nullptr;
}

// Puts what containers have become into the log, for a call that may look at them. False: that cannot be had.
bool log_containers(Tracer& tracer) {
  for (ShadowContainer& shadow : tracer.world.shadows()) {
    if (!differs_from_snapshot(shadow)) continue;
    Ref content = copy_of(shadow.object.get());
    if (!content || !are_settled(tracer, elements_of(shadow.object.get()))) return clear_error(), false;
    const bool in_place = keeps_places(shadow);
    tracer.effects.change_content({&shadow, std::move(shadow.snapshot), std::move(content), in_place});
    accept_changes(shadow);
  }
  return true;
}

// An object from before the trace that hashes and compares by its identity, or a weak reference to one.
bool is_outside_identity(Tracer& tracer, PyObject* object) {
  if (PyObject* referent = referent_of(object)) {
    const bool is_class = PyType_Check(referent) && is_static_class(as_type(referent));
    return is_class || is_outside_identity(tracer, referent);
  }
  return is_plain_key(object) && !is_constant(object) && tracer.world.source_of(object) &&
         !tracer.world.is_opaque(object) && !tracer.world.shadow(object) && PyType_SUPPORTS_WEAKREFS(Py_TYPE(object));
}

// The key of a call of a function behind a cache, if all that it is made of are constants that C code compares, and
// objects from outside that it tells apart by their identity, which is guarded; null otherwise: then the cache is not
// looked into.
Ref comparable_key(Tracer& tracer, PyObject* callable, const Arguments& arguments, PyObject* positional,
                   PyObject* keywords) {
  for (const Ref& value : arguments.values)
    if (!(is_constant(value.get()) && compares_natively(value.get())) && !is_outside_identity(tracer, value.get()))
      return nullptr;
  for (const Ref& value : arguments.values)
    if (!is_constant(value.get())) pin_down(tracer, value.get());
  Ref key = lru_cache_key(callable, positional, keywords);
  clear_error();
  return key;
}

// The key as an entry holds it, which keeps no object of the program alive: by weak references. The program's own lie
// in a list, which is part of no key.
Ref weak_key(const Ref& key) {
  if (!PyTuple_CheckExact(key.get())) return key;
  Ref held = Ref::made(PyTuple_New(PyTuple_GET_SIZE(key.get())));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key.get()); ++i) {
    PyObject* part = PyTuple_GET_ITEM(key.get(), i);
    if (PyWeakref_CheckRefExact(part)) {
      Ref list = Ref::made(PyList_New(1));
      PyList_SET_ITEM(list.get(), 0, Ref::borrow(part).release());
      PyTuple_SET_ITEM(held.get(), i, list.release());
      continue;
    }
    const bool is_of_program = !is_constant(part) && !PyType_Check(part) && PyType_SUPPORTS_WEAKREFS(Py_TYPE(part));
    PyTuple_SET_ITEM(
        held.get(), i,
        is_of_program ? Ref::made(PyWeakref_NewRef(part, nullptr)).release() : Ref::borrow(part).release());
  }
  return held;
}

// An argument that cannot be a key. False: a Python error is set, as functools sets it.
bool are_hashable(const Arguments& arguments) {
  for (const Ref& value : arguments.values)
    if (value.type()->tp_hash == PyObject_HashNotImplemented) return PyObject_Hash(value.get()) != -1;
  return true;
}

// True if the nodes from `first` on would compute the same before the frame as where they stand.
bool only_computes(const Tracer& tracer, size_t first) {
  const std::vector<Node>& nodes = tracer.graph.nodes();
  if (first == nodes.size()) return true;
  return tracer.storages.written.empty() &&
         std::none_of(nodes.begin() + static_cast<ptrdiff_t>(first), nodes.end(),
                      [](const Node& node) { return node.impure || node.sets_mode || node.checks; });
}

// One call of a function behind a cache that was there before the trace.
class CachedCall {
 public:
  CachedCall(Tracer& tracer, PyObject* callable, const Arguments& arguments)
      : tracer_(tracer),
        callable_(callable),
        function_(tracer.world.source_of(callable)),
        positional_(arguments.positional()),
        keywords_(arguments.keywords()),
        key_(comparable_key(tracer, callable, arguments, positional_.get(), keywords_.get())) {
    if (key_) look_ = weak_key(key_);
  }

  // The result that the cache has, or will have by then. Null without a break: none.
  Ref find() {
    if (!key_) return nullptr;
    Ref result;
    if (PyObject* made = tracer_.effects.cached_by_trace(callable_, key_.get())) {
      result = Ref::borrow(made);
    } else {
      PyObject* kept;
      if (find_in_lru_cache(callable_, key_.get(), kept) != Lookup::Found) return nullptr;
      Ref look = Ref::made(PyTuple_Pack(1, look_.get()));
      result = enter(tracer_, source(look, kept));
    }
    if (!result) return nullptr;
    const auto made = static_cast<Py_ssize_t>(tracer_.effects.cached_by_trace(callable_));
    if (made && lru_cache_overflows(callable_, made))
      return tracer_.abort(BreakReason::CachedEffect, "a cached function may have forgotten what it gave");
    tracer_.effects.defer_call(later(), tracer_.effects.end());
    return result;
  }

  // The function was traced beneath, and returned this; it has to be called with effects `from` on. False: a break.
  // `is_alone`: it has seen nothing that the trace did before, and does nothing but return its result.
  bool keep(PyObject* result, size_t from, bool is_alone) {
    const bool is_known = is_constant(result) || is_guarded_by_identity(result);
    if (key_ && !is_known && is_alone && tracer_.limits.may_fill_caches) {
      if (!will_be_filled()) tracer_.lru_caches_to_warm.push_back(later());
      return true;
    }
    if (key_ && is_constant(result)) {
      Ref look = Ref::made(PyTuple_Pack(2, look_.get(), result));
      tracer_.guards.add(source(look, result), GuardKind::Constant, tracer_.origin());
    } else if (key_) {  // when it is there, it can be used
      Ref look = Ref::made(PyTuple_Pack(1, look_.get()));
      tracer_.guards.add_missing(function_, Access::CachedResult, look.get(), 0, tracer_.origin());
    }
    clear_error();
    if (!is_known && !tracer_.world.source_of(result)) {
      tracer_.abort(BreakReason::CachedEffect, "a cached function returns an object that its cache keeps");
      return false;
    }
    if (key_) tracer_.effects.will_be_cached(callable_, key_, Ref::borrow(result));
    tracer_.effects.defer_call(later(), from);
    return true;
  }

 private:
  Tracer& tracer_;
  PyObject* callable_;
  Source* function_;
  Ref positional_, keywords_, key_;
  Ref look_;  // the key as it is held

  // The source of the result that a guarded look into the cache finds.
  Source* source(const Ref& look, PyObject* value) const {
    return tracer_.guards.child(function_, Access::CachedResult, look.get(), 0, value);
  }
  // True if an earlier call of the program's fills the cache: to fill it again would count a call that is not made.
  bool will_be_filled() const {
    return std::ranges::any_of(tracer_.lru_caches_to_warm, [&](const DeferredCall& call) {
      if (!call.callable.is(callable_)) return false;
      const Ref key = lru_cache_key(callable_, call.positional.get(), call.keywords.get());
      const bool is_same = key && PyObject_RichCompareBool(key.get(), key_.get(), Py_EQ) == 1;
      clear_error();
      return is_same;
    });
  }
  DeferredCall later() const { return {Ref::borrow(callable_), positional_, keywords_}; }
};

}  // namespace

Ref call_cached_function(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (is_typing_cache(callable)) return call_typing_cache(tracer, callable, arguments);
  const bool is_cache = Py_IS_TYPE(callable, lru_cache_type());
  const bool is_outside = tracer.world.source_of(callable) != nullptr;
  if (is_cache && !is_outside) {  // it keeps its results; the function is traced where the cache calls it
    for (const Ref& value : arguments.values) require_distinct(tracer, value.get());
    return call_natively(tracer, callable, arguments);
  }
  if (is_cache && !are_hashable(arguments)) return nullptr;
  std::optional<CachedCall> cached;
  if (is_cache && is_outside && !has_fake(arguments)) {
    Ref known = cached.emplace(tracer, callable, arguments).find();
    if (known || tracer.aborted() || PyErr_Occurred()) return known;
  }
  Ref wrapped = load_attribute(tracer, callable, "__wrapped__"_name);
  if (!wrapped) return nullptr;
  if (is_cache && !wrapped.is(function_behind_lru_cache(callable)))
    return tracer.abort(BreakReason::CachedEffect, "the function behind a cache is not what its __wrapped__ says");
  if (is_outside) source_or_pin(tracer, wrapped.get());

  const EffectLog::Reads reads(tracer.effects);
  const size_t from = tracer.effects.end(), changes = tracer.effects.changes();
  const ContainerStates containers(tracer.world);
  const size_t first_node = tracer.graph.nodes().size();
  // Behind a break inside, the cache would not see what the function returned: it is called as one.
  Ref result = call(tracer, wrapped.get(),
                    Arguments{arguments.values, arguments.keyword_names, arguments.is_direct && !is_cache});
  if (!result || !is_outside) return result;
  if (tracer.effects.changes() != changes || containers.have_changed())
    return tracer.abort(BreakReason::CachedEffect, "a cached function changes what it did not make");
  if (!cached) return result;
  std::vector<Ref> seen = reads.values();
  seen.insert(seen.end(), arguments.values.begin(), arguments.values.end());
  const bool is_alone = seen.size() == arguments.values.size() && tracer.effects.end() == from &&
                        only_computes(tracer, first_node) && (!containers.any_changed() || !containers.were_used()) &&
                        tracer.modes.changes().empty() && tracer.modes.contexts().empty();
  // No cache knows a call with a class that is new, and none will be asked for it again.
  const auto is_new = [&](const Ref& value) { return holds_made_class(tracer, value.get()); };
  if (is_settled(tracer, result.get()) && std::ranges::any_of(arguments.values, is_new)) return result;
  const bool is_discarded =
      !tracer.lru_caches_to_warm.empty();  // the trace, which goes on to see what else is to be filled
  if (!are_settled(tracer, seen) || (containers.were_used() && !log_containers(tracer)))
    return is_discarded
               ? result
               : tracer.abort(BreakReason::CachedEffect, "a cached function looks at an object that the call made");
  return cached->keep(result.get(), from, is_alone) ? result : nullptr;
}

namespace handlers {

// Makes a cached function around a function that the trace made: any other might be one that it has never seen.
Ref make_cached_function(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  PyObject* const function = arguments.positional_count() ? arguments.values[0].get() : nullptr;
  if (!function || !PyFunction_Check(function) || !tracer.made.functions.contains(arguments.values[0]))
    return tracer.abort(BreakReason::UnknownClass, "an instance of functools._lru_cache_wrapper is made");
  return call_natively(tracer, callable, arguments);
}

Ref ask_own_cache(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  PyObject* const cache = arguments.positional_count() ? arguments.values[0].get() : nullptr;
  if (!cache || tracer.world.source_of(cache) || tracer.world.is_opaque(cache))
    return tracer.abort(BreakReason::UnknownFunction, callable_name(callable) + " is not known to the tracer");
  return call_natively(
      tracer, callable,
      PyCFunction_Check(callable) ? Arguments{arguments.values.subspan(1), arguments.keyword_names} : arguments);
}

}  // namespace handlers

}  // namespace minidynamo
