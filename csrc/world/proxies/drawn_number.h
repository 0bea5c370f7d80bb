// Random numbers of generators from before the call, which are drawn when the residual code runs, and are inputs of the
// graph: floats and ints of Python's and NumPy's, and whole tensors.
//
// The trace does not know them: to the program a float is a traced number (symbolic_float.h), an int one that is read
// from a tensor (unbacked_numbers.h). All are drawn before the
// graph runs, in the program's order, whether they are used or not; guards have been checked by then, so that nothing
// is drawn in vain (hook/run/drawing_callable.h).
#pragma once
#include "world/state/tracer.h"

namespace minidynamo {

// The float that method(generator, *arguments) will return. `generator` is from before the call, the arguments are
// constants. Null without a break: no graph can be given it here.
Ref draw_number(Tracer& tracer, PyObject* generator, PyObject* method, Ref arguments);
// The same for an int.
Ref draw_int(Tracer& tracer, PyObject* generator, PyObject* method, Ref arguments);
// The same for a tensor like `example`, a real one that nothing shares its memory with: a fake.
Ref draw_tensor(Tracer& tracer, PyObject* generator, PyObject* method, Ref arguments, PyObject* example);
// The draw that a placeholder stands for; null: none.
const DrawnNumber* drawn_number(const Tracer& tracer, PyObject* fake) noexcept;

}  // namespace minidynamo
