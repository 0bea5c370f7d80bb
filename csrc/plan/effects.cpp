#include "plan/effects.h"

#include <algorithm>
#include <set>
#include <span>
#include <unordered_map>
#include <variant>

#include "emit/rebuild.h"
#include "guard/access_kinds.h"
#include "guard/constants.h"
#include "model/objects/instance_dict.h"
#include "python/objects/iterators.h"
#include "python/objects/set_table.h"
#include "python/process/out_of_memory.h"
#include "python/unstable.h"
#include "python/version/dict_version.h"
#include "python/version/type_version.h"
#include "tensor/fake/attribute_store.h"
#include "world/external/external_iterator.h"
#include "world/external/known_types.h"
#include "world/proxies/runtime_value.h"

namespace minidynamo {
namespace {

class EffectPlanner {
 public:
  EffectPlanner(Tracer& tracer, ValuePlanner& values) : tracer_(tracer), values_(values) {
    for (PyObject* late : runtime_values(tracer)) deferred_places_.insert(place_of_runtime_value(late));
    if (!tracer.effects.has_calls()) return;
    for (size_t i = 0; i < values.log_planned; ++i)
      if (const auto* write = std::get_if<AttributeWrite>(&tracer.effects.effects()[i]); write && write->value)
        set_.emplace(write->object.get(), write->name.get());
  }

  // A container of which the log says nothing, or nothing more.
  bool plan_container(const ShadowContainer& shadow) {
    if (!shadow.filled && !differs_from_snapshot(shadow)) return true;
    if (!plan_own_attributes(shadow)) return false;
    if (!differs_from_snapshot(shadow)) return true;
    PyObject* object = shadow.object.get();
    values_.is_written_to(object);
    values_.being_written.insert(&shadow);
    const bool is_planned = plan_container_write(object, shadow.snapshot, object, keeps_places(shadow));
    values_.being_written.erase(&shadow);
    return is_planned;
  }

  // A dict is written to before its time: what walks over it has to have moved by then.
  bool plan_walks_over_dicts() {
    for (const Effect& effect : tracer_.effects.effects()) {
      const auto* advance = std::get_if<IteratorAdvance>(&effect);
      PyTypeObject* type = advance ? type_of_original(advance->iterator.get()) : nullptr;
      if (type == &PyEnum_Type || type == &PyZip_Type)
        return refused("an iterator over a dict that changed is left behind, and an enumerate or a zip moves on");
      const bool walks = type == &PyDictIterKey_Type || type == &PyDictIterValue_Type || type == &PyDictIterItem_Type;
      if (walks && !plan_effect(*advance)) return false;
    }
    return true;
  }

  // The log up to `end`, from where it is planned.
  bool plan_log(size_t end) {
    values_.is_planning_log = true;
    bool is_planned = true;
    while (is_planned && values_.log_planned < end) {
      const size_t place = values_.log_planned++;
      const Effect& effect = tracer_.effects.effects()[place];
      is_planned = deferred_places_.count(place)
                       ? values_.runtime_value(place, std::get<DeferredCall>(effect))
                       : std::visit([&](const auto& made) { return plan_effect(made); }, effect);
    }
    values_.is_planning_log = false;
    return is_planned;
  }

  bool plan() {
    if (!plan_log(tracer_.effects.end())) return false;
    for (const bool of_emptied : {false, true})
      for (const ShadowContainer& shadow : tracer_.world.shadows())
        if (is_emptied(shadow) == of_emptied && values_.begin_writing(shadow) && !plan_container(shadow)) return false;
    return true;
  }

 private:
  Tracer& tracer_;
  ValuePlanner& values_;

  // A list in a parameter: as a resume function is given its variables, which it takes out at once. In the program,
  // what nothing else holds would live on in a variable: it ends after all other effects.
  static bool is_emptied(const ShadowContainer& shadow) {
    PyObject* const list = shadow.object.get();
    return shadow.source && shadow.source->access == Access::Local && shadow.filled && PyList_Check(list) &&
           PyList_GET_SIZE(list) == 0 && !shadow.snapshot.empty();
  }

  static bool plan_effect(std::monostate) { return true; }

  // True if it is an attribute that torch itself keeps in a tensor.
  static bool is_of_torch(PyObject* name) {
    static constinit ImportedType tensor_base{"torch._C.TensorBase"};
    PyObject* descriptor = class_attribute(tensor_base, name);
    return descriptor && Py_IS_TYPE(descriptor, &PyGetSetDescr_Type);
  }

  bool plan_effect(const AttributeWrite& write) {
    PyObject* object = write.object.get();
    values_.is_written_to(object);
    const char* set = "builtins.object.__setattr__";
    const char* remove = "builtins.object.__delattr__";
    if (PyDict_CheckExact(object)) {  // a module's globals
      set = "builtins.dict.__setitem__", remove = "builtins.dict.__delitem__";
    } else if (PyCell_Check(object) || Py_IS_TYPE(object, known_types()->thread_local_storage)) {
      set = "builtins.setattr", remove = "builtins.delattr";
    } else if (PyType_Check(object)) {
      set = "builtins.type.__setattr__", remove = "builtins.type.__delattr__";
    } else if (tracer_.world.shadow(object) && is_static_class(Py_TYPE(object))) {
      return refused("an attribute of a builtin container is set");
    }
    if (is_fake(object) && write.value && is_of_torch(write.name.get()))
      return values_.effect(store_torch_attribute_callable(), {object, write.name.get(), write.value.get()});
    if (write.value) {
      if (tracer_.effects.has_calls()) set_.emplace(object, write.name.get());
      return values_.effect(set, {object, write.name.get(), write.value.get()});
    }
    const bool is_there =
        set_.count({object, write.name.get()}) || guard_own_attribute(tracer_, object, write.name.get());
    return !is_there || values_.effect(remove, {object, write.name.get()});  // else made and deleted again
  }

  bool plan_effect(const ContextSet& set) {
    // The call that makes a token sets the variable.
    return values_.is_planned(set.token.get()) ||
           values_.effect("contextvars.ContextVar.set", {set.variable.get(), set.value.get()});
  }

  bool plan_effect(const GeneratorMove& move) {
    Ref state = Ref::made(PyObject_CallMethod(move.copy.get(), "getstate", nullptr));
    values_.keep_alive(state);
    values_.is_written_to(move.generator.get());
    return values_.effect("_random.Random.setstate", {move.generator.get(), state.get()});
  }

  bool plan_effect(const DeferredCall& later) {
    PyObject* keywords = later.keywords ? later.keywords.get() : Py_None;
    return values_.effect(call_with_callable(), {later.callable.get(), later.positional.get(), keywords});
  }

  bool plan_effect(const ContentChange& change) {
    PyObject* object = change.container->object.get();
    values_.is_written_to(object);
    return plan_container_write(object, change.before, change.content.get(), change.keeps_places);
  }

  bool plan_effect(const IteratorAdvance& advance) {
    PyObject* iterator = advance.iterator.get();
    if (advanced_by_wrapper(iterator) || !values_.is_first_move(iterator)) return true;
    values_.is_written_to(iterator);
    Ref number = Ref::made(PyLong_FromSsize_t(items_taken(iterator)));
    values_.keep_alive(number);
    return values_.effect(advance_iterator_callable(), {iterator, number.get()});
  }

  bool refused(std::string what) {
    values_.refuse(std::move(what));
    return false;
  }

  // Plans the attributes that the trace put into the __dict__ of an instance of a container's subclass.
  bool plan_own_attributes(const ShadowContainer& shadow) {
    PyObject* object = shadow.object.get();
    if (!has_instance_dict(Py_TYPE(object))) return true;
    Ref own = Ref::steal(PyObject_GenericGetDict(object, nullptr));
    Py_ssize_t position = 0;
    PyObject *name, *value;
    while (own && PyDict_Next(own.get(), &position, &name, &value))
      if (!values_.effect("builtins.object.__setattr__", {object, name, value})) return false;
    clear_error();
    return true;
  }

  using Elements = std::vector<Ref>;

  // True if a dict without its former keys was cleared, rather than relieved of them one by one: an iterator that is
  // left behind sees the places of these.
  static bool begins_anew(PyObject* shown) {
    Py_ssize_t position = 0;
    PyObject *key, *value;
    return PyDict_Next(shown, &position, &key, &value) ? position == 1 : places_in_dict(shown) == 0;
  }

  // The places of a dict's keys in its table, in their order. A dict that is filled key by key has 0, 1, 2...
  static std::vector<Py_ssize_t> places_of_keys(PyObject* dict) {
    std::vector<Py_ssize_t> places;
    Py_ssize_t position = 0;
    PyObject *key, *value;
    while (PyDict_Next(dict, &position, &key, &value)) places.push_back(position - 1);
    return places;
  }

  // Deletes the keys that are gone, or stand behind others or at another place now: an iterator of the program's may
  // stand at one that stays. What is left of `before` is what `now` begins with.
  bool plan_deletions(PyObject* object, PyObject* shown, Elements& before, const Elements& now, PyTypeObject* base) {
    const bool is_dict = !PyType_IsSubtype(base, &PyODict_Type);
    const std::vector<Py_ssize_t> places = is_dict ? places_of_keys(shown) : std::vector<Py_ssize_t>();
    const auto count = static_cast<Py_ssize_t>(before.size() / 2);
    Elements left;
    std::vector<PyObject*> gone;
    Py_ssize_t end = 0;  // behind the last that stays
    for (size_t i = 0; i < before.size(); i += 2) {
      const size_t next = left.size();
      if (next < now.size() && before[i].is(now[next].get()) &&
          (!is_dict || places[next / 2] <= static_cast<Py_ssize_t>(i / 2))) {
        left.insert(left.end(), {before[i], before[i + 1]});
        end = static_cast<Py_ssize_t>(i / 2) + 1;
      } else {
        gone.push_back(before[i].get());
      }
    }
    const bool clears =
        (left.empty() && begins_anew(shown)) || !std::all_of(gone.begin(), gone.end(), ValuePlanner::hashes_natively);
    before = clears && !gone.empty() ? Elements() : std::move(left);
    if (clears) return gone.empty() || values_.effect(method(base, "clear"), {object});
    // A key may be gone by then: a weak reference that a callback of the program's takes out when its object ends.
    if (!is_dict)
      return std::ranges::all_of(gone, [&, delete_item = method(base, "__delitem__")](PyObject* key) {
        return values_.effect(delete_item, {object, key});
      });
    // A place is free again that popitem() has left.
    const size_t kept = before.size() / 2;
    const Py_ssize_t free = kept < places.size() ? places[kept] : places_in_dict(shown);
    for (Py_ssize_t place = count; place > std::max(free, end); --place) {
      if (!values_.effect(method(base, "popitem"), {object})) return false;
      gone.pop_back();
    }
    return std::ranges::all_of(gone, [&, pop = method(base, "pop")](PyObject* key) {
      return values_.effect(pop, {object, key, Py_None});
    });
  }

  PyObject* method(PyTypeObject* base, const char* name) {
    Ref found = Ref::steal(PyObject_GetAttrString(as_object(base), name));
    clear_error();
    values_.keep_alive(found);
    return found.get();
  }

  bool plan_dict_items(PyObject* object, PyObject* shown, const Elements& before, const Elements& now,
                       PyTypeObject* base) {
    PyObject* set_item = method(base, "__setitem__");
    bool natively = true;
    for (size_t i = 0; i < now.size(); i += 2) natively &= ValuePlanner::hashes_natively(now[i].get());
    std::unordered_map<PyObject*, Py_hash_t> hashes;  // by which the dict knows its keys
    if (!natively && !PyODict_Check(object)) {
      Py_ssize_t position = 0;
      PyObject *key, *value;
      Py_hash_t hash;
      while (next_with_hash(shown, position, key, value, hash)) hashes.emplace(key, hash);
    }
    for (size_t i = 0; i < now.size(); i += 2) {
      PyObject *key = now[i].get(), *value = now[i + 1].get();
      if (i < before.size() && before[i + 1].is(value)) continue;
      if (hashes.empty() || ValuePlanner::hashes_natively(key)) {
        if (!values_.effect(set_item, {object, key, value})) return false;
        continue;
      }
      Ref hash = Ref::made(PyLong_FromSsize_t(hashes[key]));
      values_.keep_alive(hash);
      if (!values_.effect(set_hashed_item_callable(), {object, key, value, hash.get()})) return false;
    }
    return true;
  }

  Ref list_of(std::span<const Ref> items) {
    Ref list = Ref::made(PyList_New(static_cast<Py_ssize_t>(items.size())));
    for (size_t i = 0; i < items.size(); ++i)
      PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), Ref(items[i]).release());
    values_.keep_alive(list);
    return list;
  }

  // object[:] = content
  bool plan_new_content(PyObject* object, Ref content) {
    Ref everything = Ref::made(PySlice_New(nullptr, nullptr, nullptr));
    values_.keep_alive(everything);
    values_.keep_alive(content);
    return values_.effect(method(native_base(Py_TYPE(object)), "__setitem__"),
                          {object, everything.get(), content.get()});
  }

  // How many elements a deque has at its end that it did not have, where nothing else has changed but that as many as
  // its `maxlen` asks for have left it at the other end. 0: something else has changed.
  static size_t added_to_deque(PyObject* shown, const Elements& before, const Elements& now) {
    const Ref maximum = Ref::made(PyObject_GetAttrString(shown, "maxlen"));
    const bool is_full = !maximum.is(Py_None) && PyLong_AsSize_t(maximum.get()) == now.size();
    for (size_t added = 1; added <= now.size(); ++added) {
      const size_t kept = now.size() - added;
      if (kept > before.size() || (kept < before.size() && !is_full)) continue;
      const auto same = [](const Ref& old, const Ref& item) { return old.is(item.get()); };
      if (std::equal(now.begin(), now.end() - static_cast<ptrdiff_t>(added),
                     before.end() - static_cast<ptrdiff_t>(kept), same))
        return added;
    }
    return 0;
  }

  // object[i] = item for each that is another than before.
  bool plan_set_items(PyObject* object, const Elements& before, const Elements& now, PyTypeObject* base) {
    for (size_t i = 0; i < now.size(); ++i) {
      if (before[i].is(now[i].get())) continue;
      Ref index = Ref::made(PyLong_FromSize_t(i));
      values_.keep_alive(index);
      if (!values_.effect(method(base, "__setitem__"), {object, index.get(), now[i].get()})) return false;
    }
    return true;
  }

  // `shown` is what holds now what the object is to hold. By the methods of the C class: a subclass's own have run in
  // the trace.
  bool plan_container_write(PyObject* object, const Elements& before, PyObject* shown, bool keeps_places) {
    PyTypeObject* base = native_base(Py_TYPE(object));
    const Elements now = elements_of(shown);
    if (PyList_Check(object)) {
      const auto keeps = [&](size_t i) { return before[i].is(now[i].get()); };
      bool only_grew = now.size() > before.size();
      for (size_t i = 0; i < before.size() && only_grew; ++i) only_grew = keeps(i);
      if (only_grew)
        return values_.effect(method(base, "extend"), {object, list_of(std::span(now).subspan(before.size())).get()});
      return plan_new_content(object, list_of(now));
    }
    if (PyDict_Check(object)) {
      Elements left = before;
      return plan_deletions(object, shown, left, now, base) && plan_dict_items(object, shown, left, now, base);
    }
    if (PySet_Check(object)) {
      if (values_.is_template(shown)) {
        Ref as_it_is = set_with_table_of(shown);
        values_.keep_alive(as_it_is);
        return values_.effect(make_set_like_callable(), {object, as_it_is.get()});
      }
      const bool natively = std::all_of(now.begin(), now.end(),
                                        [](const Ref& item) { return ValuePlanner::hashes_natively(item.get()); });
      Ref items = natively ? list_of(now) : Ref::steal(PySet_New(shown));
      values_.keep_alive(items);
      return values_.effect(method(base, "clear"), {object}) &&
             values_.effect(method(base, "update"), {object, items.get()});
    }
    if (PyByteArray_Check(object)) return plan_new_content(object, plain_value(shown));
    if (base == known_types()->deque) {
      if (keeps_places) return plan_set_items(object, before, now, base);
      if (const size_t added = added_to_deque(shown, before, now))
        return values_.effect(method(base, "extend"), {object, list_of(std::span(now).last(added)).get()});
      return values_.effect(method(base, "clear"), {object}) &&
             values_.effect(method(base, "extend"), {object, list_of(now).get()});
    }
    return refused(std::string("a ") + Py_TYPE(object)->tp_name + " from before the call is changed");
  }

  std::set<size_t> deferred_places_;
  std::set<std::pair<PyObject*, PyObject*>>
      set_;  // (object, name) of writes planned so far, where calls are in between
};

}  // namespace

bool plan_container(Tracer& tracer, ValuePlanner& values, const ShadowContainer& shadow) {
  EffectPlanner planner(tracer, values);
  return planner.plan_walks_over_dicts() && planner.plan_container(shadow);
}

bool plan_log_until(Tracer& tracer, ValuePlanner& values, size_t place) {
  return EffectPlanner(tracer, values).plan_log(place + 1);
}

bool plan_effects(Tracer& tracer, ValuePlanner& values) { return EffectPlanner(tracer, values).plan(); }

}  // namespace minidynamo
