// torch's stack of TorchFunctionModes, as a traced program pushes, pops and asks it (world/torch/function_modes.h).
#include "library/rules/handlers.h"

#include "model/native/native_call.h"
#include "model/protocols/abstract.h"
#include "python/process/out_of_memory.h"
#include "tensor/process/function_mode_stack.h"
#include "tensor/process/override_probe.h"
#include "world/external/known_types.h"
#include "world/native/native_code.h"

namespace minidynamo::handlers {
namespace {

// The only modes on the thread's own stack are those for a default device, which act by themselves: the graph runs
// under them to its end.
Ref leaves_what_was_before(Tracer& tracer) {
  if (function_mode_count() > 0)
    return tracer.abort(BreakReason::OutsideContext, "a default device that was set before the trace is left");
  return tracer.abort(BreakReason::OutsideContext, "a TorchFunctionMode is left that was not entered");
}

}  // namespace

Ref push_function_mode(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (arguments.values.size() != 1 || arguments.keyword_names) return call_natively(tracer, callable, arguments);
  PyObject* mode = arguments.values[0].get();
  if (mode != Py_None && tracer.world.is_opaque(mode)) return use_opaque(tracer, mode), nullptr;
  if (mode != Py_None) tracer.function_modes.push(Ref::borrow(mode));
  return Ref::none();
}

Ref pop_function_mode(Tracer& tracer, PyObject*, const Arguments&) {
  return tracer.function_modes.any() ? tracer.function_modes.pop() : leaves_what_was_before(tracer);
}

Ref function_mode_of_stack(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  PyObject* given = arguments.values.size() == 1 ? arguments.values[0].get() : nullptr;
  const auto& stack = tracer.function_modes.stack();
  const Py_ssize_t index = given && PyLong_Check(given) ? PyLong_AsSsize_t(given) : -1;
  const auto own = static_cast<Py_ssize_t>(function_mode_count());
  if (index >= own && index < own + static_cast<Py_ssize_t>(stack.size())) return stack[index - own];
  clear_error();
  return tracer.abort(BreakReason::UnknownFunction, callable_name(callable) + " asks for a mode from before the trace");
}

// Functions that only say if there are modes, or how many, or if an argument has a __torch_function__.
Ref ask_function_modes(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  const FunctionModesShown shown(tracer.function_modes.stack().size());
  return call_natively(tracer, callable, arguments);
}

// `with torch.device(...)`: a mode, too.
Ref enter_device(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (arguments.values.size() != 1) return call_natively(tracer, callable, arguments);
  Ref mode = call(tracer, "torch.utils._device.DeviceContext"_imported, {arguments.values[0]});
  if (!mode) return nullptr;
  tracer.function_modes.push(std::move(mode));
  return arguments.values[0];
}

Ref leave_device(Tracer& tracer, PyObject*, const Arguments&) {
  if (!tracer.function_modes.any()) return leaves_what_was_before(tracer);
  (void)tracer.function_modes.pop();
  return Ref::none();
}

}  // namespace minidynamo::handlers
