// Items that native code reads itself: those of chain.from_iterable and starmap, the pairs that a dict is made of, the
// parts of bytes.join. A call's arguments are made fit for native code, what they give is not: an item from before the
// call that can only be passed on, a generator, would run for real.
#pragma once

#include "model/arguments.h"

namespace minidynamo {

class Tracer;

// Of the arguments of a call of native code, items that it will read are made fit for that, or an iterator stands in
// their place that does it item by item; then `room` keeps the values. False: the trace is over, or a Python error is
// set.
bool prepare_items_read(Tracer& tracer, PyObject* callable, Arguments& arguments, std::vector<Ref>& room);
// As much for the right operand of a dict's `|=`. Null: as above.
Ref prepare_pairs(Tracer& tracer, PyObject* pairs);

// The iterator that stands in an argument's place, and that of the argument.
bool is_item_preparer(PyObject* object) noexcept;
PyObject* behind_preparer(PyObject* preparer) noexcept;

}  // namespace minidynamo
