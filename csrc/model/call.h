// Calls: which callables are traced, recorded, executed natively, or end the trace.
#pragma once
#include <span>

#include "world/tracer.h"

namespace minidynamo {

// Positional values, then the values of the keywords named in `keyword_names` (a tuple, or null).
struct Arguments {
  std::span<const Ref> values;
  PyObject* keyword_names = nullptr;
  bool is_direct = false;  // the calling instruction's result is what the callee returns, as it is

  size_t keyword_count() const noexcept { return keyword_names ? PyTuple_GET_SIZE(keyword_names) : 0; }
  size_t positional_count() const noexcept { return values.size() - keyword_count(); }
  Ref positional() const;  // as a tuple
  Ref keywords() const;    // as a dict; null Ref without error if there are none
};

Ref call(Tracer& tracer, PyObject* callable, const Arguments& arguments);
Ref call(Tracer& tracer, PyObject* callable, std::initializer_list<Ref> positional);
// f(*args, **kwargs); kwargs may be null.
Ref call_with(Tracer& tracer, PyObject* callable, PyObject* args, PyObject* kwargs, bool is_direct = false);
// type.__call__: makes and initializes an instance of a Python class.
Ref instantiate(Tracer& tracer, PyTypeObject* type, const Arguments& arguments);
// C code is executed as it is; Python frames that it calls come back to the tracer.
Ref call_natively(Tracer& tracer, PyObject* callable, const Arguments& arguments);
// Traces a Python function's body in a new frame.
Ref call_function(Tracer& tracer, PyObject* function, const Arguments& arguments);

// A frame that C code called: `slots` are its fast locals, bound by CPython (borrowed).
Ref run_called_from_c(Tracer& tracer, PyObject* function, PyObject* const* slots);

}  // namespace minidynamo
