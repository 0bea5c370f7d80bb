#include "world/state/held_state.h"

#include <algorithm>
#include <unordered_set>

#include "python/process/out_of_memory.h"
#include "python/version/dict_version.h"
#include "world/external/external_iterator.h"

namespace minidynamo {
namespace {

int collect(PyObject* object, void* found) {
  // Called by tp_traverse, which knows no exceptions.
  return try_to([&] { static_cast<std::vector<PyObject*>*>(found)->push_back(object); }) ? 0 : -1;
}

// The objects that one holds, borrowed. Of a function without the names of its module.
std::vector<PyObject*> held_by(PyObject* object) {
  std::vector<PyObject*> found;
  if (PyFunction_Check(object)) {
    auto* function = as_function(object);
    for (PyObject* part : {function->func_closure, function->func_defaults, function->func_kwdefaults,
                           function->func_dict, function->func_code})
      if (part) found.push_back(part);
    return found;
  }
  const traverseproc traverse = PyObject_IS_GC(object) ? Py_TYPE(object)->tp_traverse : nullptr;
  if (traverse && traverse(object, collect, &found) != 0) throw_out_of_memory();
  std::erase_if(found, [](PyObject* one) {
    return PyType_Check(one) && PyType_HasFeature(as_type(one), Py_TPFLAGS_IMMUTABLETYPE);
  });
  return found;
}

class Walk {
 public:
  explicit Walk(Tracer& tracer) : tracer_(tracer) {}

  template <typename Visit>
  void run(std::vector<PyObject*> from, const Visit& visit) {
    std::reverse(from.begin(), from.end());
    while (!from.empty()) {
      PyObject* object = from.back();
      from.pop_back();
      if (!seen_.insert(object).second || is_end(object)) continue;
      std::vector<PyObject*> held = held_by(object);
      visit(object, held);
      from.insert(from.end(), held.rbegin(), held.rend());
    }
  }

 private:
  Tracer& tracer_;
  std::unordered_set<PyObject*> seen_;

  // True for objects that are not walked through: they cannot change, or their changes are known otherwise.
  bool is_end(PyObject* object) {
    if (is_tensor(object) || PyModule_Check(object) || PyCode_Check(object)) return true;
    if (PyType_Check(object) && !tracer_.classes.has(object)) return true;
    return tracer_.world.source_of(object) != nullptr || tracer_.world.shadow(object) != nullptr ||
           tracer_.made.namespaces.count(Ref::borrow(object)) > 0;
  }
};

// The object that an effect stores outside of containers, where code that runs later may reach it.
struct StoredObject {
  const Ref* operator()(const AttributeWrite& write) const { return &write.value; }
  const Ref* operator()(const ContextSet& set) const { return &set.value; }
  const Ref* operator()(const ContentChange&) const { return nullptr; }    // its container is among the shadows
  const Ref* operator()(const IteratorAdvance&) const { return nullptr; }  // made before the trace
  const Ref* operator()(const GeneratorMove&) const { return nullptr; }    // native code alone uses its copy
  const Ref* operator()(const DeferredCall&) const { return nullptr; }     // made after everything that the trace runs
  const Ref* operator()(std::monostate) const { return nullptr; }
};

}  // namespace

HeldState::HeldState(Tracer& tracer, const std::vector<PyObject*>& roots)
    : tracer_(tracer),
      shadows_(tracer.world.shadows().size()),
      logged_(tracer.effects.end()),
      changes_(tracer.effects.changes()),
      modes_(tracer.modes.changes()),
      function_modes_(tracer.function_modes.stack()),
      contexts_(tracer.modes.contexts().size()),
      nesting_(tracer.modes.autocast_nesting()) {
  std::vector<PyObject*> from = roots;
  const auto add = [&](const Ref& object) {
    if (object) from.push_back(object.get());
  };
  for (const Effect& effect : tracer.effects.effects())
    if (const Ref* stored = std::visit(StoredObject(), effect)) add(*stored);
  for (ShadowContainer& shadow : tracer.world.shadows()) {
    if (!shadow.filled && !tracer.world.is_changed(shadow)) {
      unfilled_.push_back(&shadow);
      continue;
    }
    PyObject* object = shadow.object.get();
    HeldElements held(shadow);
    for (const Ref& one : held.elements) add(one);
    if (PyDict_Check(object) && !PyODict_Check(object))
      dicts_.push_back({&shadow, dict_version(object)});
    else
      containers_.push_back({&shadow, std::move(held)});
  }
  Walk(tracer).run(std::move(from), [&](PyObject* object, const std::vector<PyObject*>& held) {
    if (unknown_.empty() && (PyIter_Check(object) || PyByteArray_Check(object)) && !is_outside_iterator(object))
      unknown_ = std::string("it can reach a ") + Py_TYPE(object)->tp_name + " that was made outside of it";
    Holder holder{Ref::borrow(object), {}};
    for (PyObject* one : held) holder.held.push_back(Ref::borrow(one));
    if (!holder.held.empty() || PyObject_IS_GC(object)) holders_.push_back(std::move(holder));
  });
}

std::string HeldState::change() const {
  if (!unknown_.empty()) return unknown_;
  if (tracer_.effects.changes() != changes_) return "it sets an attribute or a variable of something outside of it";
  if (tracer_.effects.end() != logged_) return "it does something that has to be done when it runs";
  return change_but_for_effects();
}

std::string HeldState::change_but_for_effects() const {
  if (!unknown_.empty()) return unknown_;
  const auto is_same_mode = [](const TorchModes::Change& a, const TorchModes::Change& b) {
    return a.setter == b.setter && a.prefix == b.prefix && a.now == b.now;
  };
  if (!std::ranges::equal(modes_, tracer_.modes.changes(), is_same_mode) ||
      !std::ranges::equal(function_modes_, tracer_.function_modes.stack(),
                          [](const Ref& then, const Ref& now) { return then == now; }) ||
      contexts_ != tracer_.modes.contexts().size() || nesting_ != tracer_.modes.autocast_nesting())
    return "it leaves a mode of torch changed";
  const auto text = [](PyObject* object) { return std::string("it changes a ") + Py_TYPE(object)->tp_name; };
  for (const FilledDict& dict : dicts_)
    if (dict.version != dict_version(dict.shadow->object.get())) return text(dict.shadow->object.get());
  for (const ShadowContainer* shadow : unfilled_)
    if (differs_from_snapshot(*shadow)) return text(shadow->object.get());
  auto& all = tracer_.world.shadows();
  for (size_t i = shadows_; i < all.size(); ++i)
    if (differs_from_snapshot(all[i])) return text(all[i].object.get());
  for (const Container& container : containers_)
    if (!holds_still(*container.shadow, container.held)) return text(container.shadow->object.get());
  for (const Holder& holder : holders_) {
    PyObject* object = holder.object.get();
    const std::vector<PyObject*> now = held_by(object);
    const bool same = std::ranges::equal(now, holder.held, [](PyObject* a, const Ref& b) { return b.is(a); });
    if (!same) return PyCell_Check(object) ? "it sets a variable of the function around it" : text(object);
  }
  return "";
}

std::vector<PyObject*> fakes_held_by(Tracer& tracer, PyObject* object) {
  std::vector<PyObject*> fakes;
  std::unordered_set<PyObject*> seen;
  const auto note = [&](PyObject* one) {
    if (is_fake(one) && seen.insert(one).second) fakes.push_back(one);
  };
  note(object);
  Walk(tracer).run({object}, [&](PyObject*, const std::vector<PyObject*>& held) { std::ranges::for_each(held, note); });
  return fakes;
}

}  // namespace minidynamo
