#include "codegen/effect_planner.h"

#include <algorithm>

#include "codegen/rebuild.h"
#include "guard/access_kinds.h"
#include "guard/constants.h"
#include "python/set_table.h"
#include "python/type_version.h"
#include "trace/attributes.h"
#include "trace/calls.h"
#include "trace/known_types.h"
#include "trace/outside_iterator.h"

namespace minidynamo {
namespace {

class EffectPlanner {
 public:
  EffectPlanner(Tracer& tracer, ValuePlanner& values) : tracer_(tracer), values_(values) {}

  bool plan_container(const StandIn& stand_in) {
    if (!stand_in.filled) return true;
    if (!plan_own_attributes(stand_in)) return false;
    if (!tracer_.outside.is_changed(stand_in)) return true;
    keep_apart(stand_in.object.get());
    return plan_container_write(stand_in, elements_of(stand_in));
  }

  bool plan() {
    return plan_context_sets() && plan_later_calls() && plan_iterators() && plan_attribute_writes() &&
           plan_container_writes();
  }

 private:
  Tracer& tracer_;
  ValuePlanner& values_;

  // An object that is written to must not turn out, at a later call, to be another that was read as a different one.
  void keep_apart(PyObject* written) {
    Source* source = tracer_.outside.source_of(written);
    if (!source || source->access == Access::Pinned) return;
    tracer_.outside.each_known([&](PyObject* other, Source* other_source) {
      if (other != written && Py_TYPE(other) == Py_TYPE(written) && other_source->access != Access::Pinned)
        tracer_.guards.add_relation(source, GuardKind::NotSameAs, other_source, GuardOrigin{});
    });
  }

  bool plan_attribute_writes() {
    for (const AttributeWrite& write : tracer_.outside.writes()) {
      PyObject* object = write.object.get();
      keep_apart(object);
      const char* set = "builtins.object.__setattr__";
      const char* remove = "builtins.object.__delattr__";
      if (PyDict_CheckExact(object)) {  // a module's globals
        set = "builtins.dict.__setitem__", remove = "builtins.dict.__delitem__";
      } else if (PyCell_Check(object)) {
        set = "builtins.setattr", remove = "builtins.delattr";
      } else if (PyType_Check(object)) {
        set = "builtins.type.__setattr__", remove = "builtins.type.__delattr__";
      } else if (tracer_.outside.stand_in(object) && !PyType_HasFeature(Py_TYPE(object), Py_TPFLAGS_HEAPTYPE)) {
        return refused("an attribute of a builtin container is set");
      }
      if (!write.value && !guard_own_attribute(tracer_, object, write.name.get())) continue;  // made and deleted again
      const bool planned = write.value ? values_.effect(set, {object, write.name.get(), write.value.get()})
                                       : values_.effect(remove, {object, write.name.get()});
      if (!planned) return false;
    }
    return true;
  }

  bool refused(std::string what) {
    values_.refuse(std::move(what));
    return false;
  }

  bool plan_container_writes() {
    for (const StandIn& stand_in : tracer_.outside.stand_ins())
      if (!values_.is_written(stand_in) && !plan_container(stand_in)) return false;
    return true;
  }

  // What the trace put into the __dict__ of an instance of a container's subclass.
  bool plan_own_attributes(const StandIn& stand_in) {
    PyObject* object = stand_in.object.get();
    if (!Py_TYPE(object)->tp_dictoffset) return true;
    Ref own = Ref::steal(PyObject_GenericGetDict(object, nullptr));
    Py_ssize_t position = 0;
    PyObject *name, *value;
    while (own && PyDict_Next(own.get(), &position, &name, &value))
      if (!values_.effect("builtins.object.__setattr__", {object, name, value})) return false;
    PyErr_Clear();
    return true;
  }

  // Whether a dict still has all its keys in their order, perhaps with new ones behind them.
  static bool keeps_keys(const StandIn& stand_in, const std::vector<PyObject*>& now) {
    if (now.size() < stand_in.snapshot.size()) return false;
    for (size_t i = 0; i < stand_in.snapshot.size(); i += 2)
      if (!stand_in.snapshot[i].is(now[i])) return false;
    return true;
  }

  PyObject* method(PyTypeObject* base, const char* name) {
    Ref found = Ref::steal(PyObject_GetAttrString(reinterpret_cast<PyObject*>(base), name));
    PyErr_Clear();
    values_.keep_alive(found);
    return found.get();
  }

  bool plan_dict_items(const StandIn& stand_in, const std::vector<PyObject*>& now, PyTypeObject* base) {
    PyObject* set_item = method(base, "__setitem__");
    for (size_t i = 0; i < now.size(); i += 2) {
      const bool unchanged = i < stand_in.snapshot.size() && stand_in.snapshot[i + 1].is(now[i + 1]);
      if (!unchanged && !plan_set_item(stand_in, set_item, now[i], now[i + 1])) return false;
    }
    return true;
  }

  bool plan_set_item(const StandIn& stand_in, PyObject* set_item, PyObject* key, PyObject* value) {
    PyObject* object = stand_in.object.get();
    if (ValuePlanner::hashes_natively(key) || PyODict_Check(object))
      return values_.effect(set_item, {object, key, value});
    Ref hash = Ref::steal(PyLong_FromSsize_t(hash_in(object, key)));
    values_.keep_alive(hash);
    return values_.effect(set_hashed_item_callable(), {object, key, value, hash.get()});
  }

  // The hash by which a dict knows one of its keys.
  static Py_hash_t hash_in(PyObject* dict, PyObject* wanted) {
    Py_ssize_t position = 0;
    PyObject *key, *value;
    Py_hash_t hash = -1;
    while (_PyDict_Next(dict, &position, &key, &value, &hash))
      if (key == wanted) break;
    return hash;
  }

  Ref list_of(const std::vector<PyObject*>& items) {
    Ref list = Ref::steal(PyList_New(static_cast<Py_ssize_t>(items.size())));
    for (size_t i = 0; i < items.size(); ++i)
      PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), Ref::borrow(items[i]).release());
    values_.keep_alive(list);
    return list;
  }

  // object[:] = content
  bool plan_new_content(PyObject* object, Ref content) {
    Ref everything = Ref::steal(PySlice_New(nullptr, nullptr, nullptr));
    values_.keep_alive(everything);
    values_.keep_alive(content);
    return values_.effect(method(native_base(Py_TYPE(object)), "__setitem__"),
                          {object, everything.get(), content.get()});
  }

  // By the methods of the C class: a subclass's own have run in the trace.
  bool plan_container_write(const StandIn& stand_in, const std::vector<PyObject*>& now) {
    PyObject* object = stand_in.object.get();
    PyTypeObject* base = native_base(Py_TYPE(object));
    if (PyList_Check(object)) {
      const auto before = stand_in.snapshot.size();
      bool only_grew = now.size() > before;
      for (size_t i = 0; i < before && only_grew; ++i) only_grew = stand_in.snapshot[i].is(now[i]);
      if (only_grew) {
        const std::vector<PyObject*> added(now.begin() + static_cast<ptrdiff_t>(before), now.end());
        return values_.effect(method(base, "extend"), {object, list_of(added).get()});
      }
      return plan_new_content(object, list_of(now));
    }
    if (PyDict_Check(object)) {
      if (keeps_keys(stand_in, now)) return plan_dict_items(stand_in, now, base);
      if (!values_.effect(method(base, "clear"), {object})) return false;
      PyObject* set_item = method(base, "__setitem__");
      for (size_t i = 0; i < now.size(); i += 2)
        if (!plan_set_item(stand_in, set_item, now[i], now[i + 1])) return false;
      return true;
    }
    if (PySet_Check(object)) {
      if (values_.is_template(object)) {
        Ref as_it_is = set_with_table_of(object);
        values_.keep_alive(as_it_is);
        return values_.effect(make_set_like_callable(), {object, as_it_is.get()});
      }
      const bool natively = std::all_of(now.begin(), now.end(), ValuePlanner::hashes_natively);
      Ref items = natively ? list_of(now) : Ref::steal(PySet_New(object));
      values_.keep_alive(items);
      return values_.effect(method(base, "clear"), {object}) &&
             values_.effect(method(base, "update"), {object, items.get()});
    }
    if (PyByteArray_Check(object)) return plan_new_content(object, plain_value(object));
    if (base == known_types()->deque)
      return values_.effect(method(base, "clear"), {object}) &&
             values_.effect(method(base, "extend"), {object, list_of(now).get()});
    return refused(std::string("a ") + Py_TYPE(object)->tp_name + " from before the call is changed");
  }

  bool plan_context_sets() {
    for (const ContextSet& set : tracer_.outside.context_sets()) {
      const bool gives_token = values_.is_planned(set.token.get());  // the call that makes it sets the variable
      if (!gives_token && !values_.effect("contextvars.ContextVar.set", {set.variable.get(), set.value.get()}))
        return false;
    }
    return true;
  }

  bool plan_later_calls() {
    for (const Outside::LaterCall& later : tracer_.outside.later_calls()) {
      PyObject* keywords = later.keywords ? later.keywords.get() : Py_None;
      if (!values_.effect(call_with_callable(), {later.callable.get(), later.positional.get(), keywords})) return false;
    }
    return true;
  }

  bool plan_iterators() {
    for (PyObject* iterator : tracer_.outside.iterators()) {
      const Py_ssize_t count = items_taken(iterator);
      if (!count || is_part_of_another(iterator)) continue;
      keep_apart(iterator);
      Ref number = Ref::steal(PyLong_FromSsize_t(count));
      values_.keep_alive(number);
      if (!values_.effect(advance_iterator_callable(), {iterator, number.get()})) return false;
    }
    return true;
  }
};

}  // namespace

bool plan_container(Tracer& tracer, ValuePlanner& values, const StandIn& stand_in) {
  return EffectPlanner(tracer, values).plan_container(stand_in);
}

bool plan_effects(Tracer& tracer, ValuePlanner& values) { return EffectPlanner(tracer, values).plan(); }

}  // namespace minidynamo
