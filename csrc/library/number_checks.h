// Handlers of rules of kind Handler: what torch has for programs to say, or to ask, of numbers that only the run of the
// graph knows. Of any other number its own Python code is traced.
#pragma once

#include "model/arguments.h"
#include "world/tracer.h"

namespace minidynamo::handlers {

#define SPECIAL(name) Ref name(Tracer& tracer, PyObject* callable, const Arguments& arguments)
SPECIAL(check_number);
SPECIAL(check_number_with);
SPECIAL(check_is_size);
SPECIAL(extreme_of_numbers);
SPECIAL(number_as_int);
SPECIAL(not_of_truth);
SPECIAL(guard_or);
#undef SPECIAL

}  // namespace minidynamo::handlers
