
#include <algorithm>
#include <string_view>

#include "model/objects/generator.h"
#include "model/objects/object_end.h"
#include "python/code/traceback.h"
#include "python/handled_exception.h"
#include "python/objects/native_contents.h"
#include "python/process/out_of_memory.h"
#include "python/unstable.h"
#include "python/version/dict_version.h"
#include "python/version/type_version.h"
#include "world/external/known_types.h"
#include "world/external/scope.h"
#include "world/external/types.h"
#include "world/native/code_origin.h"
#include "world/state/world.h"

namespace minidynamo {
namespace {

// A weak reference with which TorchDynamo notes each module that is made, once it has compiled one: no program reads
// it.
bool is_of_torch_compile(const PyWeakReference* reference) {
  PyObject* const callback = reference->wr_callback;
  if (!callback || !PyFunction_Check(callback)) return false;
  const auto* function = as_function(callback);
  const auto* code = as_code(function->func_code);
  return code_origin(code->co_filename) == CodeOrigin::Torch &&
         !PyUnicode_CompareWithASCIIString(function->func_qualname,
                                           "ExactWeakKeyDictionary.__setitem__.<locals>.<lambda>");
}

// A weak reference with which a compiler notes a tensor that it has seen: of a class of torch's, or with a callback of
// torch's.
bool is_of_torch(PyWeakReference* reference) {
  PyObject* const callback = reference->wr_callback;
  if (callback && PyFunction_Check(callback) &&
      code_origin(as_code(as_function(callback)->func_code)->co_filename) == CodeOrigin::Torch)
    return true;
  PyTypeObject* const type = Py_TYPE(as_object(reference));
  PyObject* const module = is_python_class(type) ? class_attribute(type, "__module__"_name) : nullptr;
  const char* const name = module && PyUnicode_Check(module) ? PyUnicode_AsUTF8(module) : nullptr;
  clear_error();
  return name && std::string_view(name).starts_with("torch.");
}

// A weak reference leads to the object that `is_of_others` does not hold for.
template <typename IsOfOthers>
bool any_reference(PyObject* object, IsOfOthers is_of_others) noexcept {
  auto* reference = reinterpret_cast<PyWeakReference*>(*PyObject_GET_WEAKREFS_LISTPTR(object));
  for (; reference; reference = reference->wr_next)
    if (!is_of_others(reference)) return true;
  return false;
}

bool has_finalizer(PyObject* object) {
  return is_python_class(Py_TYPE(object)) && !is_tensor(object) && class_attribute(Py_TYPE(object), "__del__"_name);
}

}  // namespace

bool is_weakly_referenced(PyObject* object) noexcept {
  return object && PyType_SUPPORTS_WEAKREFS(Py_TYPE(object)) && any_reference(object, is_of_torch_compile);
}

namespace {

// True if the object dies loudly by itself, if this is its end.
bool is_witnessed(PyObject* object) {
  if (is_fake(object) || PyType_Check(object) || PyFunction_Check(object) || PyModule_Check(object)) return false;
  if (is_tensor(object)) return any_reference(object, is_of_torch);
  if (PyGen_CheckExact(object) || PyCoro_CheckExact(object) || PyAsyncGen_CheckExact(object)) return true;
  return has_finalizer(object) || is_weakly_referenced(object);
}

// The same, or with what the frames in an exception's traceback keep alive.
bool has_witness(PyObject* object) {
  return is_witnessed(object) || (PyExceptionInstance_Check(object) && any_kept_by_traceback(object, is_witnessed));
}

bool has_witnesses(PyObject* object) {
  if (!PyTuple_CheckExact(object) && !PyList_CheckExact(object)) return has_witness(object);
  constexpr Py_ssize_t kLookedAt = 16;
  const Py_ssize_t count = std::min(PySequence_Fast_GET_SIZE(object), kLookedAt);
  for (Py_ssize_t i = 0; i < count; ++i)
    if (has_witness(PySequence_Fast_GET_ITEM(object, i))) return true;
  return false;
}

constexpr int kDeep = 3, kDeepest = 6;  // containers and objects in each other that are looked into
constexpr int kMostObjects = 1024;      // in all

// `depth` and `left`: how many more of these.
bool may_be_seen(PyObject* object, int depth, int& left) {
  if (is_tensor(object) || PyType_Check(object) || PyModule_Check(object)) return false;
  if (has_witness(object) || PyMemoryView_Check(object) || is_traced_generator(object)) return true;
  if (--left < 0 || depth == 0) return false;
  if (PyTuple_CheckExact(object) || PyList_CheckExact(object)) {
    for (Py_ssize_t i = 0; left > 0 && i < PySequence_Fast_GET_SIZE(object); ++i)
      if (may_be_seen(PySequence_Fast_GET_ITEM(object, i), depth - 1, left)) return true;
  } else if (PyDict_CheckExact(object)) {
    Py_ssize_t position = 0;
    PyObject *key, *value;
    while (left > 0 && PyDict_Next(object, &position, &key, &value))
      if (may_be_seen(key, depth - 1, left) || may_be_seen(value, depth - 1, left)) return true;
  } else if (native_base(Py_TYPE(object)) == known_types()->deque) {
    for (PyObject* item : native_contents(object).items)
      if (may_be_seen(item, depth - 1, left)) return true;
  } else if (PyMethod_Check(object)) {
    return may_be_seen(PyMethod_GET_SELF(object), depth - 1, left);
  } else if (is_python_class(Py_TYPE(object)) && has_instance_dict(Py_TYPE(object))) {
    struct State {
      int depth;
      int& left;
      bool found;
    } state{depth, left, false};
    auto visit = [](void* given, PyObject*, PyObject* value) {
      auto* looking = static_cast<State*>(given);
      looking->found = may_be_seen(value, looking->depth - 1, looking->left);
      return !looking->found;
    };
    if (PyObject* dict = instance_dict(object)) return may_be_seen(dict, depth, left);
    if (has_inline_attributes(object)) visit_inline_attributes(object, visit, &state);
    return state.found;
  }
  return false;
}

bool may_be_seen_within(PyObject* object, int depth) {
  int left = kMostObjects;
  return may_be_seen(object, depth, left);
}

constexpr size_t kNoSlot = SIZE_MAX;

// True if another variable or the stack of the frame holds the object.
bool is_in_slot(const Frame& frame, PyObject* object, size_t but) noexcept {
  for (size_t slot = 0; slot < frame.stack_top; ++slot) {
    const bool is_waiting = slot < frame.lazy_locals.size() && frame.lazy_locals[slot].raw == object;
    if (slot != but && (is_waiting || frame.slots[slot].is(object))) return true;
  }
  return false;
}

// The trace is to end behind this instruction, where an object ends: one from before the trace, or (null) its own.
void end_behind_instruction(Tracer& tracer, Source* outside) {
  if (outside) tracer.ends.released.push_back(outside);
  tracer.breaks.forced_at = tracer.executed + 1;
  tracer.ends.ask_for_break = true;
}

}  // namespace

bool has_observable_end(PyObject* object) { return may_be_seen_within(object, kDeep); }

void break_if_finalizer_observable(Tracer& tracer, Frame& frame, int32_t index, bool of_outside_too) {
  PyObject* object = frame.has_lazy_local(index) ? frame.lazy_locals[index].raw : frame.local(index).get();
  if (!object || !tracer.breaks.are_allowed) return;
  Source* source = frame.has_lazy_local(index) ? nullptr : tracer.world.source_of(object);
  const bool is_outside = source || frame.has_lazy_local(index);
  if (source) object = source->value.get();
  if (is_outside ? !of_outside_too : is_shared(object)) return;
  if (!has_witnesses(object)) return;
  if (is_in_slot(frame, object, static_cast<size_t>(index))) return;
  if (is_outside && !source) source = source_of_untouched(tracer, frame, index);
  end_behind_instruction(tracer, source);
}

void note_overwritten(Tracer& tracer, Frame& frame, int32_t index) {
  PyObject* object = frame.has_lazy_local(index) ? frame.lazy_locals[index].raw : frame.local(index).get();
  if (!object) return;
  const bool is_none = frame.top().is(Py_None), is_resumed = frame.is_of_resume_function();
  Source* source = is_resumed ? tracer.world.source_of(object) : nullptr;
  const bool is_generator = is_resumed && PyGen_CheckExact(source ? source->value.get() : object);
  // An object that the trace has not used, and that only this variable holds, ends here with all that it holds.
  if (is_resumed && frame.has_lazy_local(index) && !is_shared(object) && tracer.breaks.are_allowed &&
      may_be_seen_within(object, kDeepest))
    return end_behind_instruction(tracer, source_of_untouched(tracer, frame, index));
  if (is_none || is_generator || is_weakly_referenced(object))
    break_if_finalizer_observable(tracer, frame, index, is_resumed && (is_none || is_generator));
}

void break_if_end_on_stack_is_observable(Tracer& tracer, Frame& frame, size_t depth) {
  if (!tracer.breaks.are_allowed || !frame.is_of_resume_function()) return;
  for (size_t slot = frame.prepared->locals_count + depth; slot < frame.stack_top; ++slot) {
    PyObject* object = frame.slots[slot].get();
    Source* source = object ? tracer.world.source_of(object) : nullptr;
    if (const Frame::LazySlot* waiting = frame.lazy_local_in(slot)) source = waiting->source;
    PyObject* original = source ? source->value.get() : object;
    if (!original || !PyGen_CheckExact(original) || is_in_slot(frame, object, slot)) continue;
    end_behind_instruction(tracer, source);
  }
}

void note_handled_ends(Tracer& tracer, Frame& frame) {
  if (!tracer.breaks.are_allowed || !frame.is_of_resume_function()) return;
  const Ref handled = innermost_handled();
  Source* source = tracer.world.source_of(handled.get());
  if (!source || !has_witness(source->value.get()) || is_in_slot(frame, handled.get(), kNoSlot)) return;
  end_behind_instruction(tracer, source);
}

void note_return(Tracer& tracer, const Frame& root) {
  std::vector<bool>& lost = tracer.ends.lost_at_return;
  lost.assign(root.code()->co_argcount, true);
  const auto is_bound = [&](const Source* source) {
    if (source && source->access == Access::Local && static_cast<size_t>(source->index) < lost.size())
      lost[source->index] = false;
  };
  for (size_t slot = 0; slot < root.stack_top; ++slot) {
    if (slot < root.lazy_locals.size() && root.lazy_locals[slot].raw && slot < lost.size()) lost[slot] = false;
    if (PyObject* object = root.slots[slot].get()) is_bound(tracer.world.source_of(object));
  }
  for (const Frame::LazySlot& waiting : root.lazy_stack) is_bound(waiting.source);
}

void note_inlined_return(Tracer& tracer, Frame& frame) {
  for (int32_t local = 0; local < frame.prepared->locals_count; ++local) {
    PyObject* object = frame.has_lazy_local(local) ? frame.lazy_locals[local].raw : frame.slots[local].get();
    const Source* source = object ? tracer.world.source_of(object) : nullptr;
    if (object && PyGen_CheckExact(source ? source->value.get() : object))
      break_if_finalizer_observable(tracer, frame, local, true);
  }
}

void note_exception_leaves(Tracer& tracer, Frame& frame) {
  break_if_end_on_stack_is_observable(tracer, frame, 0);
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  bool is_kept = false;
  for (int32_t local = 0; local < frame.prepared->locals_count && !is_kept; ++local) {
    PyObject* object = frame.slots[local].get();
    if (object && PyCell_Check(object)) object = PyCell_GET(object);
    is_kept = object && !tracer.world.source_of(object) && has_observable_end(object);
  }
  PyErr_Restore(type, value, traceback);
  if (is_kept) tracer.abort(BreakReason::Finalizer, "a traceback keeps an object whose end can be seen");
}

void drop_unused_functions(Tracer& tracer) {
  for (;;) {
    std::vector<Ref> unused;
    for (auto at = tracer.made.functions.begin(); at != tracer.made.functions.end();) {
      const auto next = std::next(at);
      if (!is_shared(at->get())) unused.push_back(std::move(tracer.made.functions.extract(at).value()));
      at = next;
    }
    if (unused.empty()) return;
  }
}

void drop_unused_objects(Tracer& tracer) {
  auto& owners = tracer.made.instance_dicts;
  const auto is_unused = [](const auto& entry) {
    PyObject* owner = entry.second.get();
    const bool is_its_dict = entry.first == instance_dict(owner);  // alive, then
    return !is_shared(owner) && is_its_dict && !is_shared(entry.first) && !has_observable_end(owner);
  };
  auto& given = tracer.made.given_dicts;
  const auto is_alone = [](const Ref& owner) { return !is_shared(owner.get()) && !has_observable_end(owner.get()); };
  for (;;) {
    drop_unused_functions(tracer);
    // The last hold may lead to others that are in the tables.
    if (const auto unused = std::ranges::find_if(owners, is_unused); unused != owners.end()) {
      const Ref last_hold = std::move(unused->second);
      owners.erase(unused);
    } else if (const auto alone = std::ranges::find_if(given, is_alone); alone != given.end()) {
      const Ref last_hold = std::move(given.extract(alone).value());
    } else {
      return;
    }
  }
}

namespace {

// Null: there is none, which the instruction will say itself.
Ref item_of(PyObject* container, PyObject* key) {
  Ref item;
  if (PyList_CheckExact(container))
    item = Ref::steal(PyObject_GetItem(container, key));
  else if (PyDict_CheckExact(container) && is_plain_key(key))
    item = Ref::borrow(PyDict_GetItemWithError(container, key));
  clear_error();
  return item;
}

bool end_before_replacing(Tracer& tracer, PyObject* object) {
  if (!object || !tracer.breaks.are_allowed || !has_finalizer(object)) return true;
  return tracer.abort(BreakReason::Finalizer, "an object with a finalizer is replaced") != nullptr;
}

}  // namespace

bool break_if_replaced_item_is_loud(Tracer& tracer, PyObject* container, PyObject* key) {
  return end_before_replacing(tracer, item_of(container, key).get());
}

bool break_if_replaced_attribute_is_loud(Tracer& tracer, PyObject* object, PyObject* name) {
  if (const AttributeWrite* write = tracer.effects.pending(object, name))
    return end_before_replacing(tracer, write->value.get());
  return end_before_replacing(tracer, instance_attribute(tracer.world.source_of(object)->value.get(), name));
}

bool break_if_end_of_item_is_observable(Tracer& tracer, PyObject* container, PyObject* key) {
  if (!tracer.breaks.are_allowed) return true;
  const Ref item = item_of(container, key);
  if (!item) return true;
  const bool is_slice = PyList_CheckExact(container) && PySlice_Check(key);  // `item` is a list of those that go
  const auto dies = [&](PyObject* object) {
    return has_witnesses(object) && !is_in_slot(*tracer.frame, object, kNoSlot);
  };
  PyObject** const items = is_slice ? PySequence_Fast_ITEMS(item.get()) : nullptr;
  const bool ends = is_slice ? std::any_of(items, items + PyList_GET_SIZE(item.get()), dies) : dies(item.get());
  if (!ends) return true;
  return tracer.abort(BreakReason::Finalizer, "an object is deleted whose end can be seen") != nullptr;
}

}  // namespace minidynamo
