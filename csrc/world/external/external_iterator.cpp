#include "world/external/external_iterator.h"

#include "python/cached.h"
#include "python/objects/iterators.h"
#include "python/process/nesting.h"
#include "python/process/out_of_memory.h"

namespace minidynamo {
namespace {

struct OutsideIterator {
  PyObject_HEAD Tracer* tracer;
  Source* source;
  PyObject*
      parts;  // an enumerate's or zip's: a tuple of the in-trace iterators that it asks; null: its source is asked
  PyObject* inner;  // a zip's: an in-trace one over these
  Py_ssize_t taken;
  Py_ssize_t taken_by_whole;  // the items taken by an enumerate or zip that it is part of
  DictWalk walk;              // for the items taken so far, where they come from a dict
  bool ended, is_part;
  EnterItem enter;
};

OutsideIterator* as_iterator(PyObject* object) noexcept { return reinterpret_cast<OutsideIterator*>(object); }

// The number of enumerates or zips that are asking their parts.
thread_local int active_bulk_reads = 0;

void note_advance(Tracer& tracer, OutsideIterator* iterator) {
  ++iterator->taken;
  if (iterator->is_part && active_bulk_reads) ++iterator->taken_by_whole;
  tracer.effects.advance(as_object(iterator));
}

// map and filter: they stand where what they ask stands, and call a function for it.
bool calls_function(PyObject* iterator) noexcept {
  return Py_IS_TYPE(iterator, &PyMap_Type) || Py_IS_TYPE(iterator, &PyFilter_Type);
}
bool is_enumerate(PyObject* iterator) noexcept { return Py_IS_TYPE(iterator, &PyEnum_Type); }

PyObject* raw_of(const OutsideIterator* iterator) noexcept { return iterator->source->value.get(); }

// The count of an enumerate: it is guarded where the program asks for the number.
Source* count_source(Tracer& tracer, const OutsideIterator* iterator) {
  constexpr int32_t kCount = 1;
  Ref parts = parts_of_iterator(raw_of(iterator));
  return parts ? tracer.guards.child(iterator->source, Access::IteratorPart, nullptr, kCount,
                                     PyTuple_GET_ITEM(PyTuple_GET_ITEM(parts.get(), 1), kCount))
               : nullptr;
}

Ref number_of_next(Tracer& tracer, const OutsideIterator* iterator) {
  Source* count = count_source(tracer, iterator);
  Ref first = count ? iterator->enter(tracer, count) : Ref();
  Ref passed = Ref::made(PyLong_FromSsize_t(iterator->taken));
  return first ? Ref::steal(PyNumber_Add(first.get(), passed.get())) : Ref();
}

// The next item of a part, on behalf of the whole.
Ref next_of_part(PyObject* part) {
  ++active_bulk_reads;
  Ref item = Ref::steal(Py_TYPE(part)->tp_iternext(part));
  --active_bulk_reads;
  return item;
}

Ref next_of_whole(Tracer& tracer, OutsideIterator* iterator) {
  if (calls_function(raw_of(iterator))) return Ref::steal(Py_TYPE(iterator->inner)->tp_iternext(iterator->inner));
  if (!is_enumerate(raw_of(iterator))) return next_of_part(iterator->inner);
  Ref item = next_of_part(PyTuple_GET_ITEM(iterator->parts, 0));
  Ref number = item ? number_of_next(tracer, iterator) : Ref();
  return number ? Ref::made(PyTuple_Pack(2, number.get(), item.get())) : Ref();
}

PyObject* iterator_next(PyObject* self) {
  OutsideIterator* iterator = as_iterator(self);
  Tracer* tracer = Tracer::current();
  if (tracer != iterator->tracer) {
    PyErr_SetString(PyExc_RuntimeError, "minidynamo: an iterator of a trace was used after the trace");
    return nullptr;
  }
  if (tracer->is_over()) return nullptr;
  bool call_next = false;
  if (Source* item = take_next_source(*tracer, self, call_next)) return iterator->enter(*tracer, item).release();
  if (!call_next || iterator->ended) return nullptr;
  Ref item = next_of_whole(*tracer, iterator);
  if (!item && PyErr_Occurred()) {
    if (tracer->is_over() || !PyErr_ExceptionMatches(PyExc_StopIteration)) return nullptr;
    clear_error();
  }
  if (calls_function(raw_of(iterator))) return item.release();  // a function may say that it is the end, and go on
  note_advance(*tracer, iterator);
  iterator->ended = !item;
  return item.release();
}

void iterator_dealloc(PyObject* self) {
  Py_CLEAR(as_iterator(self)->inner);
  Py_CLEAR(as_iterator(self)->parts);
  PyObject_Free(self);
}

PyTypeObject make_iterator_type(const char* name) {
  PyTypeObject type = {PyVarObject_HEAD_INIT(nullptr, 0)};
  type.tp_name = name;
  type.tp_basicsize = sizeof(OutsideIterator);
  type.tp_dealloc = iterator_dealloc;
  type.tp_flags = Py_TPFLAGS_DEFAULT;
  type.tp_iter = PyObject_SelfIter;
  type.tp_iternext = entry<iterator_next>;
  return type;
}

// One for each type that can be followed, of the same name.
struct IteratorType {
  PyTypeObject* original;
  PyTypeObject type;
};
IteratorType iterator_types[] = {
    {&PyListIter_Type, make_iterator_type("list_iterator")},
    {&PyTupleIter_Type, make_iterator_type("tuple_iterator")},
    {&PyRangeIter_Type, make_iterator_type("range_iterator")},
    {&PyDictIterKey_Type, make_iterator_type("dict_keyiterator")},
    {&PyDictIterValue_Type, make_iterator_type("dict_valueiterator")},
    {&PyDictIterItem_Type, make_iterator_type("dict_itemiterator")},
    {&PyEnum_Type, make_iterator_type("enumerate")},
    {&PyZip_Type, make_iterator_type("zip")},
    {&PyMap_Type, make_iterator_type("map")},
    {&PyFilter_Type, make_iterator_type("filter")},
    {&PyReversed_Type, make_iterator_type("reversed")},
    {&PyListRevIter_Type, make_iterator_type("list_reverseiterator")},
    {&PySetIter_Type, make_iterator_type("set_iterator")},
    {&PyUnicodeIter_Type, make_iterator_type("str_iterator")},
    {nullptr, make_iterator_type("str_ascii_iterator")},  // see is_ascii_iterator
    {&PyBytesIter_Type, make_iterator_type("bytes_iterator")},
};

PyTypeObject* type_for(PyTypeObject* original) noexcept {
  for (IteratorType& known : iterator_types) {
    if (!known.original && is_ascii_iterator(original)) known.original = original;
    if (known.original != original) continue;
    make_ready(known.type);
    return &known.type;
  }
  PyErr_Format(PyExc_TypeError, "minidynamo: a %s cannot be followed", original->tp_name);
  return nullptr;
}

}  // namespace

Ref parts_of_iterator(PyObject* iterator) {
  if (!is_made_of_iterators(Py_TYPE(iterator))) return nullptr;
  Ref parts = Ref::steal(PyObject_CallMethod(iterator, "__reduce__", nullptr));
  clear_error();
  return parts && PyTuple_Check(parts.get()) && PyTuple_GET_SIZE(parts.get()) == 2 ? parts : Ref();
}

Ref make_external_iterator(Tracer& tracer, Source* source, Ref parts, EnterItem enter) {
  Ref inner;
  if (parts && !is_enumerate(source->value.get())) {
    inner = Ref::steal(PyObject_Call(as_object(Py_TYPE(source->value.get())), parts.get(), nullptr));
    if (!inner) return nullptr;
  }
  PyTypeObject* type = type_for(Py_TYPE(source->value.get()));
  if (!type) return nullptr;
  Ref object = Ref::made(as_object(PyObject_New(OutsideIterator, type)));
  OutsideIterator* made = as_iterator(object.get());
  made->tracer = &tracer;
  made->source = source;
  made->parts = parts.release();
  made->inner = inner.release();
  made->taken = made->taken_by_whole = 0;
  made->walk = {};
  made->ended = made->is_part = false;
  made->enter = enter;
  return object;
}

void becomes_part(PyObject* iterator) noexcept { as_iterator(iterator)->is_part = true; }

Py_ssize_t asked_parts(PyObject* iterator, PyObject* parts) noexcept {
  return is_enumerate(iterator) ? 1 : PyTuple_GET_SIZE(parts);
}

bool can_follow_iterator(PyObject* iterator) {
  if (is_dict_iterator(Py_TYPE(iterator))) return !is_stale_dict_iterator(iterator);
  if (Py_IS_TYPE(iterator, &PySetIter_Type)) return !look_at_set_iterator(iterator).is_stale;
  if (can_peek(iterator)) return true;
  Ref parts = parts_of_iterator(iterator);
  NestingLevel level;
  if (!parts || level.is_too_deep()) return false;
  PyObject* inner = PyTuple_GET_ITEM(parts.get(), 1);
  // A function of C code would be called past its rule.
  const Py_ssize_t functions = calls_function(iterator) ? 1 : 0;
  if (functions && !PyFunction_Check(PyTuple_GET_ITEM(inner, 0))) return false;
  for (Py_ssize_t i = functions; i < asked_parts(iterator, inner); ++i) {
    PyObject* part = PyTuple_GET_ITEM(inner, i);
    // An enumerate or zip moves on at the end by asking its parts, which must not call a function again.
    if ((!functions && calls_function(part)) || !can_follow_iterator(part)) return false;
  }
  return true;
}

bool is_outside_iterator(PyObject* object) noexcept { return Py_TYPE(object)->tp_iternext == entry<iterator_next>; }

PyTypeObject* type_of_original(PyObject* iterator) noexcept {
  return Py_TYPE(as_iterator(iterator)->source->value.get());
}

PyTypeObject* original_iterator_type(PyTypeObject* type) noexcept {
  for (const IteratorType& known : iterator_types)
    if (&known.type == type) return known.original;
  return nullptr;
}

Source* take_next_source(Tracer& tracer, PyObject* object, bool& call_next) {
  OutsideIterator* iterator = as_iterator(object);
  call_next = iterator->parts != nullptr;
  if (call_next || iterator->ended) return nullptr;
  PyObject* raw = iterator->source->value.get();
  if (PyObject* container = iterated_container(raw)) {
    // The next item would show what the trace has done to the container.
    PyObject* replacement = tracer.world.replacement_of(container);
    ShadowContainer* shadow = replacement ? tracer.world.shadow(replacement) : nullptr;
    if (shadow && tracer.world.is_changed(*shadow)) {
      tracer.abort(BreakReason::OutsideWrite,
                   "a container was changed while an iterator from before the call walks over it");
      return nullptr;
    }
  }
  const auto ahead = static_cast<int32_t>(iterator->taken);
  Ref item = peek_item(raw, ahead, &iterator->walk);
  if (item && is_dict_iterator(Py_TYPE(raw)) && is_beyond_size(raw, ahead)) {
    tracer.abort(BreakReason::OutsideWrite, "a dict whose keys changed since an iterator over it was made");
    return nullptr;
  }
  note_advance(tracer, iterator);
  if (item) {
    Source* source = tracer.guards.child(iterator->source, Access::Upcoming, nullptr, ahead, item.get());
    tracer.guards.add(source, GuardKind::Present, tracer.origin());
    return source;
  }
  iterator->ended = true;
  tracer.guards.add_missing(iterator->source, Access::Upcoming, nullptr, ahead, tracer.origin());
  return nullptr;
}

bool take_next_parts(Tracer& tracer, PyObject* object, int32_t count, std::vector<ItemPart>& parts) {
  OutsideIterator* iterator = as_iterator(object);
  PyObject* raw = raw_of(iterator);
  if (iterator->ended || calls_function(raw)) return false;
  if (Py_IS_TYPE(raw, &PyDictIterItem_Type)) {
    if (count != 2) return false;
    bool call_next = false;
    Source* item = take_next_source(tracer, object, call_next);
    for (int32_t i = 0; item && i < 2; ++i)
      parts.push_back(
          {tracer.guards.child(item, Access::Index, nullptr, i, PyTuple_GET_ITEM(item->value.get(), i)), nullptr});
    return true;
  }
  const Py_ssize_t asked = iterator->parts ? PyTuple_GET_SIZE(iterator->parts) : 0;
  if (asked == 0 || count != (is_enumerate(raw) ? 2 : asked)) return false;
  if (is_enumerate(raw)) {
    // Behind the first the number is that of the first and some more, which is known where that is.
    Source* number = iterator->taken == 0 ? count_source(tracer, iterator) : nullptr;
    Ref known = number ? Ref() : number_of_next(tracer, iterator);
    if (!number && !known) return true;
    parts.push_back({number, std::move(known)});
  }
  for (Py_ssize_t i = 0; i < asked; ++i) {
    PyObject* part = PyTuple_GET_ITEM(iterator->parts, i);
    bool call_next = !is_outside_iterator(part);
    ++active_bulk_reads;
    Source* source = call_next ? nullptr : take_next_source(tracer, part, call_next);
    --active_bulk_reads;
    Ref item = !source && call_next && !tracer.is_over() ? next_of_part(part) : Ref();
    if (!source && !item) {
      parts.clear();
      break;
    }
    parts.push_back({source, std::move(item)});
  }
  if (tracer.is_over()) return true;
  if (parts.empty() && PyErr_Occurred()) {
    if (!PyErr_ExceptionMatches(PyExc_StopIteration)) return true;
    clear_error();
  }
  note_advance(tracer, iterator);
  iterator->ended = parts.empty();
  return true;
}

Py_ssize_t items_taken(PyObject* iterator) noexcept {
  return as_iterator(iterator)->taken - as_iterator(iterator)->taken_by_whole;
}

bool advanced_by_wrapper(PyObject* iterator) noexcept {
  return as_iterator(iterator)->is_part && items_taken(iterator) == 0;
}

}  // namespace minidynamo
