#include "codegen/exit.h"

#include "codegen/rebuild.h"
#include "trace/calls.h"
#include "trace/generator.h"
#include "trace/known_types.h"
#include "trace/tensor_calls.h"

namespace minidynamo {
namespace {

class ExitPlanner {
 public:
  ExitPlanner(Tracer& tracer, Exit& exit) : tracer_(tracer), exit_(exit) {}

  bool run(PyObject* result) {
    const ValueId returned = value_of(result);
    if (returned == kNoValue || !plan_attribute_writes() || !plan_container_writes()) return false;
    exit_.plan.result = returned;
    tracer_.graph.remove_dead_code(exit_.outputs);
    gather();
    return true;
  }

 private:
  Tracer& tracer_;
  Exit& exit_;
  std::unordered_map<PyObject*, ValueId> values_;
  std::unordered_map<NodeId, uint32_t> output_index_;
  std::vector<std::pair<ValueId, Source*>> live_;  // their slots are given after the graph's inputs have theirs
  std::vector<Ref> keep_alive_;
  std::vector<PyObject*> building_;

  ValueId refuse(const std::string& what) {
    tracer_.give_up(BreakReason::UnsupportedResult, what);
    return kNoValue;
  }

  ValueId add(PlanStep step) {
    exit_.plan.steps.push_back(std::move(step));
    return static_cast<ValueId>(exit_.plan.steps.size() - 1);
  }

  ValueId constant(PyObject* object) { return add({PlanStep::Kind::Constant, Ref::borrow(object)}); }

  ValueId value_of(PyObject* object) {
    if (auto known = values_.find(object); known != values_.end()) return known->second;
    for (PyObject* outer : building_)
      if (outer == object) return refuse("the result contains itself");
    building_.push_back(object);
    const ValueId value = make_value(object);
    building_.pop_back();
    if (value == kNoValue) return kNoValue;
    values_.emplace(object, value);
    keep_alive_.push_back(Ref::borrow(object));
    return value;
  }

  ValueId make_value(PyObject* object) {
    if (Source* source = tracer_.outside.source_of(object)) {
      // An object that its guard fixes is a constant of the residual code.
      if (source->access == Access::Pinned || PyFunction_Check(object) || PyType_Check(object) ||
          PyModule_Check(object) || PyCFunction_Check(object))
        return constant(object);
      return live(source);
    }
    if (tracer_.identities.count(Ref::borrow(object))) return refuse("an object's id() leaves the trace");
    if (is_constant(object)) return constant(object);
    if (is_fake(object)) return output(object);
    if (PyType_Check(object) || PyCFunction_Check(object) || PyModule_Check(object)) return constant(object);
    PyTypeObject* type = Py_TYPE(object);
    if (type == &PyTuple_Type) return sequence(PlanStep::Kind::Tuple, object);
    if (type == &PyList_Type) return sequence(PlanStep::Kind::List, object);
    if (type == &PyDict_Type) return dict(object);
    if (type == &PySet_Type || type == &PyFrozenSet_Type) return set(object);
    if (type == &PySlice_Type) {
      auto* slice = reinterpret_cast<PySliceObject*>(object);
      return with_operands(PlanStep::Kind::Slice, {slice->start, slice->stop, slice->step});
    }
    if (type == &PyMethod_Type)
      return call(reinterpret_cast<PyObject*>(&PyMethod_Type),
                  {PyMethod_GET_FUNCTION(object), PyMethod_GET_SELF(object)});
    if (PyFunction_Check(object)) return function(object);
    if (type == &PyCell_Type) {
      PyObject* contents = PyCell_GET(object);
      return contents ? call(reinterpret_cast<PyObject*>(&PyCell_Type), {contents})
                      : call(reinterpret_cast<PyObject*>(&PyCell_Type), {});
    }
    if (is_traced_generator(object)) return refuse("a generator leaves the trace");
    if (type == known_types()->partial) return partial(object);
    if (PyTuple_Check(object)) return named_tuple(object);
    if (is_rebuildable(type)) return instance(object);
    return refuse(std::string("a ") + type->tp_name + " leaves the trace");
  }

  ValueId live(Source* source) {
    const ValueId value = add({PlanStep::Kind::Live});
    live_.emplace_back(value, source);
    return value;
  }

  ValueId output(PyObject* fake) {
    const NodeId node = tracer_.graph.producer(fake);
    if (node == kNoNode) return refuse("a tensor whose origin the graph does not know");
    auto [entry, added] = output_index_.try_emplace(node, static_cast<uint32_t>(exit_.outputs.size()));
    if (added) exit_.outputs.push_back(node);
    return add({PlanStep::Kind::Output, nullptr, entry->second});
  }

  ValueId with_operands(PlanStep::Kind kind, std::initializer_list<PyObject*> operands) {
    PlanStep step{kind};
    for (PyObject* operand : operands) {
      step.operands.push_back(value_of(operand));
      if (step.operands.back() == kNoValue) return kNoValue;
    }
    return add(std::move(step));
  }

  ValueId call(PyObject* callable, std::initializer_list<PyObject*> arguments) {
    const ValueId value = with_operands(PlanStep::Kind::Call, arguments);
    if (value != kNoValue) exit_.plan.steps[value].object = Ref::borrow(callable);
    return value;
  }

  ValueId sequence(PlanStep::Kind kind, PyObject* object) {
    PlanStep step{kind};
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i) {
      step.operands.push_back(value_of(PySequence_Fast_GET_ITEM(object, i)));
      if (step.operands.back() == kNoValue) return kNoValue;
    }
    return add(std::move(step));
  }

  ValueId dict(PyObject* object) {
    PlanStep step{PlanStep::Kind::Dict};
    Py_ssize_t position = 0;
    PyObject *key, *value;
    while (PyDict_Next(object, &position, &key, &value)) {
      for (PyObject* part : {key, value}) {
        step.operands.push_back(value_of(part));
        if (step.operands.back() == kNoValue) return kNoValue;
      }
    }
    return add(std::move(step));
  }

  ValueId set(PyObject* object) {
    PlanStep step{PlanStep::Kind::Set};
    Py_ssize_t position = 0;
    PyObject* item;
    Py_hash_t hash;
    while (_PySet_NextEntry(object, &position, &item, &hash)) {
      step.operands.push_back(value_of(item));
      if (step.operands.back() == kNoValue) return kNoValue;
    }
    const ValueId items = add(std::move(step));
    if (PySet_CheckExact(object)) return items;
    return add({PlanStep::Kind::Call, Ref::borrow(reinterpret_cast<PyObject*>(&PyFrozenSet_Type)), 0, {items}});
  }

  ValueId function(PyObject* object) {
    auto* made = reinterpret_cast<PyFunctionObject*>(object);
    auto part = [](PyObject* value) { return value ? value : Py_None; };
    Ref own = Ref::borrow(made->func_dict && PyDict_GET_SIZE(made->func_dict) ? made->func_dict : Py_None);
    values_.try_emplace(made->func_code, constant(made->func_code));
    values_.try_emplace(made->func_globals, constant(made->func_globals));
    return call(
        rebuild_function_callable(),
        {made->func_code, made->func_globals, made->func_name, part(made->func_defaults), part(made->func_kwdefaults),
         part(made->func_closure), part(made->func_annotations), made->func_qualname, own.get()});
  }

  ValueId partial(PyObject* object) {
    Ref parts[3];
    const char* const names[] = {"func", "args", "keywords"};
    for (int i = 0; i < 3; ++i) {
      parts[i] = Ref::steal(PyObject_GetAttrString(object, names[i]));
      if (!parts[i]) return refuse("a functools.partial");
      keep_alive_.push_back(parts[i]);
    }
    return call(rebuild_partial_callable(), {parts[0].get(), parts[1].get(), parts[2].get()});
  }

  ValueId named_tuple(PyObject* object) {
    Ref items = Ref::steal(PyTuple_New(PyTuple_GET_SIZE(object)));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i)
      PyTuple_SET_ITEM(items.get(), i, Ref::borrow(PyTuple_GET_ITEM(object, i)).release());
    keep_alive_.push_back(items);
    return call(rebuild_tuple_callable(), {reinterpret_cast<PyObject*>(Py_TYPE(object)), items.get()});
  }

  // An instance of a Python class, perhaps derived from a builtin container.
  ValueId instance(PyObject* object) {
    Ref parts = instance_parts(object);  // (items or None, attributes)
    if (!parts) {
      PyErr_Clear();
      return refuse(std::string("an instance of ") + Py_TYPE(object)->tp_name);
    }
    keep_alive_.push_back(parts);
    return call(rebuild_instance_callable(), {reinterpret_cast<PyObject*>(Py_TYPE(object)),
                                              PyTuple_GET_ITEM(parts.get(), 0), PyTuple_GET_ITEM(parts.get(), 1)});
  }

  bool effect(const char* callable_path, std::initializer_list<PyObject*> arguments) {
    Ref callable = import_object(callable_path);
    const ValueId step = with_operands(PlanStep::Kind::CallEffect, arguments);
    if (step == kNoValue) return false;
    exit_.plan.steps[step].object = std::move(callable);
    return true;
  }

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
      bool ok;
      if (PyDict_CheckExact(object)) {  // a module's globals
        ok = write.value ? effect("builtins.dict.__setitem__", {object, write.name.get(), write.value.get()})
                         : effect("builtins.dict.__delitem__", {object, write.name.get()});
      } else if (PyCell_Check(object)) {
        ok = write.value ? effect("builtins.setattr", {object, write.name.get(), write.value.get()})
                         : effect("builtins.delattr", {object, write.name.get()});
      } else {
        ok = write.value ? effect("builtins.object.__setattr__", {object, write.name.get(), write.value.get()})
                         : effect("builtins.object.__delattr__", {object, write.name.get()});
      }
      if (!ok) return false;
    }
    return true;
  }

  // The elements that a stand-in holds now, in the order of its snapshot.
  static std::vector<PyObject*> elements(PyObject* object) {
    std::vector<PyObject*> now;
    if (PyList_Check(object)) {
      for (Py_ssize_t i = 0; i < PyList_GET_SIZE(object); ++i) now.push_back(PyList_GET_ITEM(object, i));
    } else if (PyDict_Check(object)) {
      Ref keys = Ref::steal(PySequence_List(object));
      for (Py_ssize_t i = 0; keys && i < PyList_GET_SIZE(keys.get()); ++i) {
        PyObject* key = PyList_GET_ITEM(keys.get(), i);
        now.push_back(key);
        now.push_back(PyDict_GetItemWithError(object, key));
      }
    } else {
      Ref items = Ref::steal(PySequence_List(object));
      for (Py_ssize_t i = 0; items && i < PyList_GET_SIZE(items.get()); ++i)
        now.push_back(PyList_GET_ITEM(items.get(), i));
    }
    return now;
  }

  bool plan_container_writes() {
    for (const StandIn& stand_in : tracer_.outside.stand_ins()) {
      if (!stand_in.filled) continue;
      const std::vector<PyObject*> now = elements(stand_in.object.get());
      bool changed = now.size() != stand_in.snapshot.size();
      for (size_t i = 0; !changed && i < now.size(); ++i) changed = !stand_in.snapshot[i].is(now[i]);
      if (!changed) continue;
      keep_apart(stand_in.object.get());
      if (!plan_container_write(stand_in)) return false;
    }
    return true;
  }

  // Whether a dict still has all its keys in their order, perhaps with new ones behind them.
  static bool keeps_keys(const StandIn& stand_in) {
    const std::vector<PyObject*> now = elements(stand_in.object.get());
    if (now.size() < stand_in.snapshot.size()) return false;
    for (size_t i = 0; i < stand_in.snapshot.size(); i += 2)
      if (!stand_in.snapshot[i].is(now[i])) return false;
    return true;
  }

  bool plan_dict_items(const StandIn& stand_in) {
    const std::vector<PyObject*> now = elements(stand_in.object.get());
    for (size_t i = 0; i < now.size(); i += 2) {
      const bool unchanged = i < stand_in.snapshot.size() && stand_in.snapshot[i + 1].is(now[i + 1]);
      if (!unchanged && !effect("builtins.dict.__setitem__", {stand_in.object.get(), now[i], now[i + 1]})) return false;
    }
    return true;
  }

  bool plan_container_write(const StandIn& stand_in) {
    PyObject* object = stand_in.object.get();
    if (PyList_CheckExact(object)) {
      Ref everything = Ref::steal(PySlice_New(nullptr, nullptr, nullptr));
      Ref items = Ref::steal(PySequence_List(object));
      keep_alive_.push_back(everything);
      keep_alive_.push_back(items);
      return effect("builtins.list.__setitem__", {object, everything.get(), items.get()});
    }
    if (PyDict_CheckExact(object)) {
      if (keeps_keys(stand_in)) return plan_dict_items(stand_in);
      Ref items = Ref::steal(PyDict_Copy(object));
      keep_alive_.push_back(items);
      return effect("builtins.dict.clear", {object}) && effect("builtins.dict.update", {object, items.get()});
    }
    if (PySet_CheckExact(object)) {
      Ref items = Ref::steal(PySet_New(object));
      keep_alive_.push_back(items);
      return effect("builtins.set.clear", {object}) && effect("builtins.set.update", {object, items.get()});
    }
    tracer_.give_up(BreakReason::OutsideContainerWrite,
                    std::string("a ") + Py_TYPE(object)->tp_name + " from before the call is changed");
    return false;
  }

  void gather() {
    // The graph's inputs come first, in the order of its placeholders; Live steps index everything that is gathered.
    Plan& plan = exit_.plan;
    std::vector<uint32_t> slots;
    size_t calls = 0;
    for (const Node& node : tracer_.graph.nodes()) {
      if (!node.used) continue;
      if (node.kind != NodeKind::Placeholder) {
        ++calls;
        continue;
      }
      Source* source = tracer_.outside.source_of(node.example.get());
      if (static_cast<size_t>(node.input) >= exit_.inputs.size()) exit_.inputs.resize(node.input + 1);
      exit_.inputs[node.input] = source;
    }
    for (Source* source : exit_.inputs) slots.push_back(tracer_.guards.gather(source));
    tracer_.guards.distinct(std::move(slots));
    for (const auto& [value, source] : live_) plan.steps[value].index = tracer_.guards.gather(source);
    plan.calls_graph = calls > 0;
    plan.output_count = static_cast<uint32_t>(exit_.outputs.size());
  }
};

}  // namespace

bool plan_exit(Tracer& tracer, PyObject* result, Exit& exit) {
  flush_operator_reports();
  return !tracer.broken() && ExitPlanner(tracer, exit).run(result);
}

}  // namespace minidynamo
