// Random numbers of Python's that are drawn when the residual code runs, and are inputs of the graph.
//
// The trace does not know them: to the program they are traced numbers (traced_number.h). All are drawn before the
// graph runs, in the program's order, whether they are used or not; guards have been checked by then, so that nothing
// is drawn in vain (hook/drawing_callable.h).
#pragma once
#include "world/tracer.h"

namespace minidynamo {

// What method(generator, *arguments) will give, a float. `generator` is from before the call, the arguments are
// constants. Null without a break: no graph can be given it here.
Ref draw_number(Tracer& tracer, PyObject* generator, PyObject* method, Ref arguments);
// The draw that a placeholder stands for; null: none.
const DrawnNumber* drawn_number(const Tracer& tracer, PyObject* fake) noexcept;

}  // namespace minidynamo
