// Context managers of torch's C code, of two kinds.
//
// Those that keep something away (the __torch_function__ of subclasses, dispatch modes) act on the thread while the
// trace runs, so that who asks hears of them. The graph need not know: its tensors are plain, and where modes are
// active no entry fits.
//
// A range of a profiler (record_function) says nothing about values. One that begins and ends in the trace is left out:
// a backend may merge and move operators as it likes. One that outlives the trace begins where residual code makes its
// record, and ends where the program ends it.
#include "library/rules/handlers.h"

#include "model/native/native_call.h"
#include "model/objects/function.h"
#include "model/tensors/tensor_call.h"
#include "python/native_function.h"
#include "python/process/out_of_memory.h"
#include "tensor/process/override_probe.h"
#include "world/external/known_types.h"
#include "world/external/pin.h"

namespace minidynamo {
namespace {

// enter_context(class): an instance that has been entered.
PyObject* enter_context(PyObject*, PyObject* type) {
  Ref made = Ref::steal(PyObject_CallNoArgs(type));
  const Ref entered = made ? Ref::steal(PyObject_CallMethod(made.get(), "__enter__", nullptr)) : Ref();
  return entered ? made.release() : nullptr;
}

PyObject* enter_context_callable() { return native_function<METH_O, enter_context>("enter_context"); }

bool is_disabling(PyObject* object) {
  static constinit ImportedType kTypes[] = {ImportedType{"torch._C.DisableTorchFunctionSubclass"},
                                            ImportedType{"torch._C.DisableTorchFunction"},
                                            ImportedType{"torch._C._DisableTorchDispatch"}};
  for (ImportedType& type : kTypes)
    if (Py_TYPE(object) == type) return true;
  return false;
}

// pybind11 passes the function's record to its own methods before the object.
PyObject* context_in(const Arguments& arguments) {
  for (const Ref& value : arguments.values)
    if (is_disabling(value.get())) return value.get();
  return nullptr;
}

}  // namespace

namespace handlers {

// __enter__ of torch._C.DisableTorchFunctionSubclass() and its like
Ref enter_disabling_context(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  PyObject* context = context_in(arguments);
  if (!context) return call_natively(tracer, callable, arguments);
  if (tracer.world.source_of(context))
    return tracer.abort(BreakReason::OutsideContext,
                        std::string("a ") + Py_TYPE(context)->tp_name + " made before the call is entered");
  tracer.modes.note_entered(
      {Ref::borrow(context), enter_context_callable(), Ref::borrow(as_object(Py_TYPE(context))), false});
  const OverridesAsSet as_set;
  return Ref::steal(PyObject_CallMethod(context, "__enter__", nullptr));
}

Ref leave_disabling_context(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  PyObject* context = context_in(arguments);
  if (!context) return call_natively(tracer, callable, arguments);
  if (!tracer.modes.leave(context))
    return tracer.abort(BreakReason::OutsideContext,
                        std::string("a ") + Py_TYPE(context)->tp_name + " entered before the trace is left");
  const OverridesAsSet as_set;
  return Ref::steal(PyObject_CallMethod(context, "__exit__", "OOO", Py_None, Py_None, Py_None));
}

// Anomaly detection looks at what autograd records, which a graph does not keep: only where nothing changes.
Ref set_anomaly(Tracer& tracer, PyObject*, const Arguments& arguments) {
  static constinit Imported is_on{"torch.is_anomaly_enabled"}, checks{"torch.is_anomaly_check_nan_enabled"};
  const Ref on = Ref::steal(PyObject_CallNoArgs(is_on)), checks_nan = Ref::steal(PyObject_CallNoArgs(checks));
  const size_t count = arguments.values.size();
  const bool is_known = on && checks_nan && count >= 1 && count <= 2;
  const bool stays = is_known && arguments.values[0].is(on.get()) &&
                     (count == 1 ? checks_nan.is(Py_True) : arguments.values[1].is(checks_nan.get()));
  clear_error();
  if (!stays) return tracer.abort(BreakReason::ActiveMode, "anomaly detection is switched on or off");
  guard_state(tracer, is_on, "torch.is_anomaly_enabled", on.get());
  guard_state(tracer, checks, "torch.is_anomaly_check_nan_enabled", checks_nan.get());
  return Ref::none();
}

// torch imports the module that may show ranges in a monitor of the GPU when it first asks for it, once in a process.
Ref profiler_monitor(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  {
    NativeScope native;
    const Ref module = Ref::steal(PyObject_CallNoArgs(callable));
    if (!module) return nullptr;
  }
  return call_function(tracer, callable, arguments);
}

// the functions that record_function is made of
Ref profiler_range_enter(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  Ref record = Ref::steal(PyObject_CallNoArgs(as_object(&PyBaseObject_Type)));
  if (record)
    tracer.effects.cached_by(record.get(), {Ref::borrow(callable), arguments.positional(), arguments.keywords()});
  return record;
}

Ref profiler_range_exit(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  PyObject* record = arguments.positional_count() == 1 ? arguments.values[0].get() : nullptr;
  if (!record || (!tracer.effects.cache_behind(record) && !tracer.world.source_of(record)))
    return tracer.abort(BreakReason::UnknownFunction, "a range of a profiler ends in an unknown way");
  if (!tracer.effects.cache_behind(record))  // begun before the trace
    tracer.effects.defer_call({Ref::borrow(callable), arguments.positional(), nullptr}, tracer.effects.end());
  return Ref::none();
}

}  // namespace handlers

}  // namespace minidynamo
