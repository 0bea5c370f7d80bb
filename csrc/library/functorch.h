// Rules of torch.func's C functions and of forward-mode AD: they are really called, on fakes.
#pragma once

#include "model/arguments.h"
#include "world/tracer.h"

namespace minidynamo::handlers {

#define SPECIAL(name) Ref name(Tracer& tracer, PyObject* callable, const Arguments& arguments)
SPECIAL(transform_call);  // may enter or leave a level, or another state that only transforms set
SPECIAL(enter_dual_level);
SPECIAL(exit_dual_level);
SPECIAL(load_decompositions);  // of torch's library, once in a process
SPECIAL(no_compiled_autograd);
SPECIAL(gradients_of_transform);
SPECIAL(ask_transform_state);
SPECIAL(wrap_outputs_of_function);
SPECIAL(call_custom_function);  // an autograd.Function, perhaps within levels, each of which has its say
#undef SPECIAL

}  // namespace minidynamo::handlers
