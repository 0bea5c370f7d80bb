// Iterators from before a trace: advanced in the trace, they stay where they are, and the residual code moves them.
//
// The next item of an iterator is guarded as such ("the item after the next"), wherever it stands: a loop that a
// graph break cuts is captured once, not once an iteration.
#pragma once
#include <vector>

#include "guard/source.h"
#include "world/state/tracer.h"

namespace minidynamo {

// True if an iterator can be followed: over a list, tuple, range, dict, set, str or bytes, or enumerate() or zip() of
// such ones.
bool can_follow_iterator(PyObject* iterator);
// The parts of an enumerate or zip, as its __reduce__ says: (type, (iterator, count)) or (type, iterators[, strict]).
// Null Ref without error for others.
Ref parts_of_iterator(PyObject* iterator);
// The number of these that an enumerate or a zip asks for items.
Py_ssize_t asked_parts(PyObject* iterator, PyObject* parts) noexcept;
// The in-trace iterator for one; `parts` are the in-trace iterators that an enumerate or a zip asks, or null: items
// come from the source, and enter the trace by `enter`, when they are asked for.
using EnterItem = Ref (*)(Tracer& tracer, Source* item);
Ref make_external_iterator(Tracer& tracer, Source* source, Ref parts, EnterItem enter);
// It moves only with an enumerate or zip from now on.
void becomes_part(PyObject* iterator) noexcept;

bool is_outside_iterator(PyObject* object) noexcept;
// The type of the iterator that one stands for; and the same by the type of the shadow, null for other types.
PyTypeObject* type_of_original(PyObject* iterator) noexcept;
PyTypeObject* original_iterator_type(PyTypeObject* type) noexcept;
// The source of the next item, for those whose items need no making; the iterator has moved on then. Null without a
// Python error: it has ended, or next() has to be called (`call_next`).
Source* take_next_source(Tracer& tracer, PyObject* iterator, bool& call_next);
// The parts of the next item, for a loop that takes it apart at once (`for i, layer in enumerate(layers)`). They have
// not entered the trace yet, so that the number of a layer is not guarded if the program does not use it. None: the
// iterator has ended, or there is a Python error. False: the item has to be asked for as a whole.
struct ItemPart {
  Source* source;
  Ref object;  // where it has no source of its own
};
bool take_next_parts(Tracer& tracer, PyObject* iterator, int32_t count, std::vector<ItemPart>& parts);

// The number of items by which the original has to be moved.
Py_ssize_t items_taken(PyObject* iterator) noexcept;
// It moves only with the enumerate() or zip() that it is part of.
bool advanced_by_wrapper(PyObject* iterator) noexcept;

}  // namespace minidynamo
