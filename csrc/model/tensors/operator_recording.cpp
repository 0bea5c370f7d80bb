// Executes and records calls in a region of transforms.
#include <utility>

#include "model/native/native_call.h"
#include "model/tensors/tensor_call.h"
#include "model/tensors/transform_call.h"
#include "python/error_text.h"
#include "python/process/out_of_memory.h"
#include "tensor/dispatch/operator_warnings.h"
#include "world/external/known_types.h"
#include "world/native/native_code.h"
#include "world/state/held_values.h"

namespace minidynamo {
namespace {

bool has_wrapper(PyObject* object) {
  return any_held(object, [](PyObject* held) { return is_tensor(held) && is_transform_wrapper(held); });
}

thread_local bool operator_is_stopped = false;

// Sets the exception of stop_operator(), which does not always come through C++.
bool was_stopped() {
  if (!std::exchange(operator_is_stopped, false)) return false;
  clear_error();
  PyErr_SetNone("minidynamo._runtime.checkpoint.Stop"_imported);
  return true;
}

std::nullptr_t raised(Tracer& tracer, const std::string& what) {
  if (tracer.is_over() || was_stopped()) return nullptr;
  return tracer.abort(BreakReason::OperatorRaised, what + " raised " + take_error_text());
}

}  // namespace

std::nullptr_t stop_operator() {
  operator_is_stopped = true;
  PyErr_SetString(PyExc_RuntimeError, "minidynamo: an operator is stopped");
  return nullptr;
}

bool is_below_transforms(const Tracer& tracer, const Arguments& arguments) {
  if (!tracer.transforms.any()) return false;
  if (tracer.transforms.records_operators()) return true;
  for (const Ref& value : arguments.values)
    if (has_wrapper(value.get())) return true;
  return false;
}

bool is_below_transforms(const Tracer& tracer, PyObject* tensor) {
  return tracer.transforms.any() && (tracer.transforms.records_operators() || is_transform_wrapper(tensor));
}

Ref call_recording_operators(Tracer& tracer, NodeKind kind, PyObject* target, const Arguments& arguments) {
  flush_operator_reports();
  const bool is_region = !tracer.limits.below_autograd;
  if (tracer.is_over() || (is_region && !tracer.transforms.enter(tracer))) return nullptr;
  Ref result;
  {
    const OperatorRecordingScope records_operators;
    result = execute(tracer, kind, target, arguments);
    if (!result && !tracer.is_over()) raised(tracer, target_text(target));
    result = adopt_result(tracer, std::move(result));
  }
  if ((is_region && !tracer.transforms.leave(tracer)) || tracer.is_over()) return nullptr;
  return result;
}

Ref call_that_calls_back(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  flush_operator_reports();
  if (tracer.is_over()) return nullptr;
  Ref result;
  {
    const OperatorWarnings warnings(OperatorWarnings::As::Errors);
    result = call_natively(tracer, callable, arguments);
  }
  if (!result && !tracer.is_over() && was_stopped()) return nullptr;
  if (!result && !tracer.is_over() && PyErr_ExceptionMatches(PyExc_Warning))
    return tracer.abort(BreakReason::Warning, target_text(callable) + " warns: " + take_error_text());
  if (tracer.is_over() || !flush_operator_reports()) return nullptr;
  return result;
}

Ref load_recording_operators(Tracer& tracer, PyObject* tensor, PyObject* name) {
  const Ref operands[] = {Ref::borrow(tensor), Ref::borrow(name)};
  return call_recording_operators(tracer, NodeKind::CallFunction, "builtins.getattr"_imported, Arguments{operands});
}

Ref lift(Tracer& tracer, Ref constant) {
  if (!tracer.transforms.inside()) return constant;
  const Ref operands[] = {std::move(constant)};
  return call_recording_operators(tracer, NodeKind::CallFunction, "torch.ops.aten.lift_fresh.default"_imported,
                                  Arguments{operands});
}

}  // namespace minidynamo
