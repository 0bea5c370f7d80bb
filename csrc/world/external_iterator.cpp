#include "world/external_iterator.h"

#include "python/cached.h"
#include "python/iterators.h"
#include "python/out_of_memory.h"

namespace minidynamo {
namespace {

struct OutsideIterator {
  PyObject_HEAD Tracer* tracer;
  Source* source;
  PyObject* inner;  // an in-trace enumerate or zip over other outside iterators; null: items come from the source
  Py_ssize_t taken;
  Py_ssize_t taken_by_whole;  // of these, by an enumerate or zip that it is part of
  DictWalk walk;              // for the items taken so far, where they come from a dict
  bool ended, is_part;
  EnterItem enter;
};

OutsideIterator* as_iterator(PyObject* object) noexcept { return reinterpret_cast<OutsideIterator*>(object); }

// How many enumerates or zips are asking their parts.
thread_local int wholes_at_work = 0;

void note_advance(Tracer& tracer, OutsideIterator* iterator) {
  ++iterator->taken;
  if (iterator->is_part && wholes_at_work) ++iterator->taken_by_whole;
  tracer.effects.advance(reinterpret_cast<PyObject*>(iterator));
}

PyObject* iterator_next(PyObject* self) {
  OutsideIterator* iterator = as_iterator(self);
  Tracer* tracer = Tracer::current();
  if (tracer != iterator->tracer) {
    PyErr_SetString(PyExc_RuntimeError, "minidynamo: an iterator of a trace was used after the trace");
    return nullptr;
  }
  if (tracer->broken()) return nullptr;
  bool call_next = false;
  if (Source* item = take_next_source(*tracer, self, call_next)) return iterator->enter(*tracer, item).release();
  if (!call_next || iterator->ended) return nullptr;
  ++wholes_at_work;
  Ref item = Ref::steal(Py_TYPE(iterator->inner)->tp_iternext(iterator->inner));
  --wholes_at_work;
  if (!item && PyErr_Occurred()) {
    if (tracer->broken() || !PyErr_ExceptionMatches(PyExc_StopIteration)) return nullptr;
    clear_error();
  }
  note_advance(*tracer, iterator);
  iterator->ended = !item;
  return item.release();
}

void iterator_dealloc(PyObject* self) {
  Py_CLEAR(as_iterator(self)->inner);
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
};

PyTypeObject* type_for(PyTypeObject* original) noexcept {
  for (IteratorType& known : iterator_types) {
    if (known.original != original) continue;
    make_ready(known.type);
    return &known.type;
  }
  PyErr_Format(PyExc_TypeError, "minidynamo: a %s cannot be followed", original->tp_name);
  return nullptr;
}

bool is_enumerate(PyObject* iterator) noexcept { return Py_IS_TYPE(iterator, &PyEnum_Type); }

}  // namespace

Ref parts_of_iterator(PyObject* iterator) {
  if (!Py_IS_TYPE(iterator, &PyEnum_Type) && !Py_IS_TYPE(iterator, &PyZip_Type)) return nullptr;
  Ref parts = Ref::steal(PyObject_CallMethod(iterator, "__reduce__", nullptr));
  clear_error();
  return parts && PyTuple_Check(parts.get()) && PyTuple_GET_SIZE(parts.get()) == 2 ? parts : Ref();
}

Ref make_external_iterator(Tracer& tracer, Source* source, Ref inner, EnterItem enter) {
  PyTypeObject* type = type_for(Py_TYPE(source->value.get()));
  if (!type) return nullptr;
  Ref object = Ref::made(reinterpret_cast<PyObject*>(PyObject_New(OutsideIterator, type)));
  OutsideIterator* made = as_iterator(object.get());
  made->tracer = &tracer;
  made->source = source;
  made->inner = inner.release();
  made->taken = made->taken_by_whole = 0;
  made->walk = {};
  made->ended = made->is_part = false;
  made->enter = enter;
  return object;
}

void becomes_part(PyObject* iterator) noexcept { as_iterator(iterator)->is_part = true; }

bool can_follow_iterator(PyObject* iterator) {
  if (is_dict_iterator(Py_TYPE(iterator))) return !is_stale_dict_iterator(iterator);
  if (can_peek(Py_TYPE(iterator))) return true;
  Ref parts = parts_of_iterator(iterator);
  if (!parts) return false;
  PyObject* inner = PyTuple_GET_ITEM(parts.get(), 1);
  const Py_ssize_t count = is_enumerate(iterator) ? 1 : PyTuple_GET_SIZE(inner);
  for (Py_ssize_t i = 0; i < count; ++i)
    if (!can_peek(Py_TYPE(PyTuple_GET_ITEM(inner, i)))) return false;
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
  call_next = iterator->inner != nullptr;
  if (call_next || iterator->ended) return nullptr;
  PyObject* raw = iterator->source->value.get();
  if (PyObject* container = iterated_container(raw)) {
    // What the trace has done to the container would show in what comes next.
    PyObject* replacement = tracer.world.replacement_of(container);
    StandIn* stand_in = replacement ? tracer.world.stand_in(replacement) : nullptr;
    if (stand_in && stand_in->filled && tracer.world.is_changed(*stand_in)) {
      tracer.give_up(BreakReason::OutsideWrite,
                     "a container was changed while an iterator from before the call walks over it");
      return nullptr;
    }
  }
  const auto ahead = static_cast<int32_t>(iterator->taken);
  Ref item = peek_item(raw, ahead, &iterator->walk);
  if (item && is_dict_iterator(Py_TYPE(raw)) && is_beyond_size(raw, ahead)) {
    tracer.give_up(BreakReason::OutsideWrite, "a dict whose keys changed since an iterator over it was made");
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

Py_ssize_t items_taken(PyObject* iterator) noexcept {
  return as_iterator(iterator)->taken - as_iterator(iterator)->taken_by_whole;
}

bool is_moved_by_another(PyObject* iterator) noexcept {
  return as_iterator(iterator)->is_part && items_taken(iterator) == 0;
}

}  // namespace minidynamo
