// Items that native code reads itself: those of chain.from_iterable and starmap, the pairs that a dict is made of, the
// parts of bytes.join. A call's arguments are made fit for native code, the items that they yield are not: an item from
// before the call that can only be passed on, a generator, would run for real.
#pragma once

#include "model/protocols/arguments.h"

namespace minidynamo {

class Tracer;

// Makes the items of an iterable fit for native code: the iterable itself, or an iterator in its place that does it
// item by item. Null: the trace is over, or a Python error is set.
Ref prepare_items(Tracer& tracer, PyObject* iterable);
// Does so for the argument of a call of native code whose items that reads, if it is such a call; then `room` keeps the
// values. False: as above.
bool prepare_items_read(Tracer& tracer, PyObject* callable, Arguments& arguments, std::vector<Ref>& room);

bool is_item_preparer(PyObject* object) noexcept;
// The iterator (borrowed) whose items it prepares.
PyObject* behind_preparer(PyObject* preparer) noexcept;

}  // namespace minidynamo
