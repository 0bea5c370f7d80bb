// functorch's Python code is traced as any other. Its C functions push and pop levels, wrap and unwrap: they are called
// for real, on the tracing thread, with fakes in place of tensors. TensorTraceScope puts the thread's levels back if
// the trace ends in the middle.
#include "library/rules/handlers.h"

#include "model/native/native_call.h"
#include "model/objects/function.h"
#include "model/protocols/abstract.h"
#include "model/tensors/tensor_call.h"
#include "python/code/bound_method.h"
#include "python/error_text.h"
#include "python/process/out_of_memory.h"
#include "tensor/autograd/transforms.h"
#include "tensor/fake/tensor_facts.h"
#include "world/external/known_types.h"
#include "world/external/pin.h"
#include "world/native/native_code.h"

namespace minidynamo::handlers {
namespace {

// Without the record of the function that pybind11 binds it to.
Arguments as_written(PyObject* callable, const Arguments& arguments) {
  PyObject* self = bound_self(callable);
  const bool is_bound = self && !PyModule_Check(self);
  return Arguments{arguments.values.subspan(is_bound ? 1 : 0), arguments.keyword_names, arguments.is_direct};
}

}  // namespace

// may enter or leave a level, or another state that only transforms set
Ref transform_call(Tracer& tracer, PyObject* callable, const Arguments& given) {
  const Arguments arguments = as_written(callable, given);
  flush_operator_reports();
  if (tracer.is_over() || !expose_all(tracer, arguments.values)) return nullptr;
  Ref result;
  {
    const NativeScope native;
    const OperatorRecordingScope records_operators;
    const std::vector<PyObject*> values = vectorcall_values(arguments);
    result = Ref::steal(PyObject_Vectorcall(callable, values.data() + 1,
                                            arguments.positional_count() | PY_VECTORCALL_ARGUMENTS_OFFSET,
                                            arguments.keyword_names));
    if (tracer.is_over()) return nullptr;
    if (!result)
      return tracer.abort(BreakReason::OperatorRaised, callable_name(callable) + " raised " + take_error_text());
    result = adopt_result(tracer, std::move(result));
  }
  return tracer.transforms.look(tracer) && !tracer.is_over() ? result : Ref();
}

Ref enter_dual_level(Tracer& tracer, PyObject* callable, const Arguments& given) {
  const Arguments arguments = as_written(callable, given);
  if (has_dual_level())  // another thread's: torch has one for all
    return tracer.abort(BreakReason::ActiveMode, "forward-mode AD is active");
  const NativeScope native;
  Ref level = Ref::steal(PyObject_CallNoArgs(callable));
  if (!level || !arguments.values.empty())
    return tracer.abort(BreakReason::OperatorRaised, callable_name(callable) + " raised " + take_error_text());
  entered_dual_level();
  return tracer.transforms.look(tracer) ? level : Ref();
}

Ref exit_dual_level(Tracer& tracer, PyObject* callable, const Arguments& given) {
  const Arguments arguments = as_written(callable, given);
  flush_operator_reports();
  if (tracer.is_over()) return nullptr;
  if (!TransformState::now().dual_levels)
    return tracer.abort(BreakReason::ActiveMode, "a level of forward-mode AD from before the trace is left");
  {
    const NativeScope native;
    const std::vector<PyObject*> values = vectorcall_values(arguments);
    Ref done = Ref::steal(PyObject_Vectorcall(callable, values.data() + 1,
                                              arguments.positional_count() | PY_VECTORCALL_ARGUMENTS_OFFSET,
                                              arguments.keyword_names));
    if (!done)
      return tracer.abort(BreakReason::OperatorRaised, callable_name(callable) + " raised " + take_error_text());
  }
  left_dual_level();
  return tracer.transforms.look(tracer) ? Ref::none() : Ref();
}

// torch loads these when it first needs them, once in a process.
Ref load_decompositions(Tracer&, PyObject* callable, const Arguments&) {
  const NativeScope native;
  const TensorTraceSuspended suspended;
  return Ref::steal(PyObject_CallNoArgs(callable));
}

// torch.func keeps its calls of autograd from being compiled; in a trace nothing else compiles them either.
Ref no_compiled_autograd(Tracer& tracer, PyObject*, const Arguments&) {
  const Ref on = Ref::borrow("torch._dynamo.compiled_autograd.compiled_autograd_enabled"_imported);
  if (!on.is(Py_False)) return tracer.abort(BreakReason::ActiveMode, "compiled autograd is switched on");
  return call(tracer, "contextlib.nullcontext"_imported, {});
}

// It asks for a module that torch imports when it is first asked for, once in a process.
Ref gradients_of_transform(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  {
    const NativeScope native;
    const TensorTraceSuspended suspended;
    const Ref module = Ref::steal(PyImport_ImportModule("torch._dynamo.compiled_autograd"));
    if (!module) return nullptr;
  }
  return call_function(tracer, callable, arguments);
}

// A state that a transform of the trace may have changed is the trace's own; any other is guarded.
Ref ask_transform_state(Tracer& tracer, PyObject* callable, const Arguments& given) {
  const Arguments arguments = as_written(callable, given);
  Ref answer = call_natively(tracer, callable, arguments);
  if (answer && !tracer.is_over() && !tracer.transforms.inside() && !arguments.values.size())
    guard_state(tracer, callable, callable_name(callable), answer.get());
  return answer;
}

// torch's own asks for the ids of tensors, which would be those of this call's.
Ref wrap_outputs_of_function(Tracer& tracer, PyObject*, const Arguments& arguments) {
  return call(tracer, "minidynamo._runtime.autograd_function.wrap_outputs"_imported, arguments);
}

// an autograd.Function, perhaps within levels, each of which handles the call
Ref call_custom_function(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (!TransformState::now().levels) return call_function(tracer, callable, arguments);
  // autograd's engine calls these; they are traced where the trace knows where they come from.
  if (arguments.values.size() > 1)
    for (const char* name : {"forward", "setup_context", "backward", "jvp", "vmap"}) {
      const Ref key = Ref::made(PyUnicode_InternFromString(name));
      if (!load_attribute(tracer, arguments.values[1].get(), key.get())) {
        if (tracer.is_over()) return nullptr;
        clear_error();
      }
    }
  return call(tracer, "minidynamo._runtime.autograd_function.call_in_transform"_imported, arguments);
}

}  // namespace minidynamo::handlers
