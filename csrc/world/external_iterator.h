// Iterators from before a trace: advanced in the trace, they stay where they are, and the residual code moves them.
//
// What an iterator will give next is guarded as such ("the item after the next"), wherever it stands: a loop that a
// graph break cuts is captured once, not once an iteration.
#pragma once
#include "guard/source.h"
#include "world/tracer.h"

namespace minidynamo {

// Whether iterators of the type can be followed: over lists, tuples, ranges and dicts, and enumerate() and zip() of
// these.
bool can_follow_iterator(PyObject* iterator);
// Of enumerate and zip, what their __reduce__ says: (type, (iterator, count)) or (type, iterators[, strict]). Null Ref
// without error for others.
Ref parts_of_iterator(PyObject* iterator);
// The in-trace iterator for one; `inner` is an in-trace enumerate or zip over other such iterators, or null: items come
// from the source, and enter the trace by `enter`, when they are asked for.
using EnterItem = Ref (*)(Tracer& tracer, Source* item);
Ref make_external_iterator(Tracer& tracer, Source* source, Ref inner, EnterItem enter);
// It moves only with an enumerate or zip from now on.
void becomes_part(PyObject* iterator) noexcept;

bool is_outside_iterator(PyObject* object) noexcept;
// The type of the iterator that one stands for; and the same by the type of the stand-in, null for other types.
PyTypeObject* type_of_original(PyObject* iterator) noexcept;
PyTypeObject* original_iterator_type(PyTypeObject* type) noexcept;
// The source of the next item, for those whose items need no making; the iterator has moved on then. Null without a
// Python error: it has ended, or next() has to be called (`call_next`).
Source* take_next_source(Tracer& tracer, PyObject* iterator, bool& call_next);

// How far the original has to be moved.
Py_ssize_t items_taken(PyObject* iterator) noexcept;
// It moves only with the enumerate() or zip() that it is part of.
bool is_moved_by_another(PyObject* iterator) noexcept;

}  // namespace minidynamo
