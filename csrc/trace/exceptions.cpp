#include "trace/exceptions.h"

#include <utility>

#include "model/native/reported_type.h"
#include "model/objects/frame_object.h"
#include "model/objects/object_end.h"
#include "model/protocols/abstract.h"
#include "model/protocols/arguments.h"
#include "model/protocols/descriptor.h"
#include "python/code/traceback.h"
#include "python/error_text.h"
#include "python/objects/context_methods.h"
#include "python/process/out_of_memory.h"
#include "python/version/type_version.h"
#include "world/external/class_lookup.h"

namespace minidynamo {
namespace {

Ref load_special(Tracer& tracer, PyObject* object, const char* name) {
  Ref interned = Ref::made(PyUnicode_InternFromString(name));
  if (PyTypeObject* shown = type_stood_for(object))
    if (PyObject* method = class_attribute(shown, interned.get())) return Ref::made(PyMethod_New(method, object));
  Ref found = lookup_in_class(tracer, Py_TYPE(object), interned.get());
  if (!found) {
    if (PyErr_Occurred()) return nullptr;
    for (const char* asked : {"__aenter__", "__aexit__"}) {  // by the error's text
      const Ref other = Ref::made(PyUnicode_InternFromString(asked));
      if (!lookup_in_class(tracer, Py_TYPE(object), other.get()) && PyErr_Occurred()) return nullptr;
    }
    raise_no_special_method(object, name);
    return nullptr;
  }
  return bind_descriptor(tracer, found.get(), object, interned.get());
}

Ref traceback_of(PyObject* exception) {
  Ref traceback = Ref::steal(PyException_GetTraceback(exception));
  return traceback ? traceback : Ref::none();
}

// An exception from before the trace would be changed by raising it: its traceback and context.
bool is_outside_exception(Tracer& tracer, PyObject* exception) {
  if (!tracer.world.source_of(exception) || !PyExceptionInstance_Check(exception)) return false;
  tracer.abort(BreakReason::Exception, "an exception from before the trace is raised again");
  return true;
}

// The code unit at which the frame stands when an exception leaves the current instruction. A reraise has taken the
// exception from the stack, and stands where that was raised, if it remembers the place.
int32_t raised_at(Frame& frame) {
  const Instruction& now = frame.current();
  const bool may_remember = now.op == Op::RERAISE && now.arg > 0;
  PyObject* remembered = may_remember ? frame.top(now.arg).get() : nullptr;
  return remembered && PyLong_Check(remembered) ? static_cast<int32_t>(PyLong_AsLong(remembered)) : now.offset / 2;
}

// Enters the handler that covers the current instruction. False: none, the error leaves the frame.
bool enter_handler(Tracer& tracer, Frame& frame) {
  const ExceptionRegion* region = frame.prepared->bytecode.region_at(frame.instruction);
  if (!region) return false;
  const int32_t place = raised_at(frame);
  Ref exception = take_error();  // first: what follows asks objects
  note_dropped(tracer, frame, region->depth);
  frame.shrink_stack(region->depth);
  if (region->push_lasti) frame.push(Ref::made(PyLong_FromLong(place)));
  if (is_fake_data_error(exception.get()))
    return tracer.abort(BreakReason::DataDependent, "native code needs the data of a tensor") != nullptr;
  frame.push(std::move(exception));
  frame.instruction = region->target;
  return true;
}

}  // namespace

void raise_again(Tracer& tracer, Ref exception) {
  if (is_outside_exception(tracer, exception.get())) return;
  set_error(std::move(exception));
}

void raise_exception(Tracer& tracer, Ref exception, Ref cause) {
  if (!exception) {
    Ref handled = Ref::steal(PyErr_GetHandledException());
    if (!handled || handled.is(Py_None)) {
      PyErr_SetString(PyExc_RuntimeError, "No active exception to reraise");
      return;
    }
    return raise_again(tracer, std::move(handled));
  }
  // Before 3.13, CPython takes whatever a class of exceptions makes as the cause, without a check.
  constexpr bool any_cause_is_taken = PY_VERSION_HEX < 0x030D0000;
  auto instance_of = [&](Ref& given, bool is_cause) -> bool {
    if (!PyExceptionClass_Check(given.get())) return true;
    PyObject* type = given.get();
    Ref made = call(tracer, type, Arguments{});
    if (!made) return false;
    if (!PyExceptionInstance_Check(made.get())) {
      if (is_cause && any_cause_is_taken)
        return tracer.abort(BreakReason::Exception, "a class of exceptions makes a cause that is no exception") !=
               nullptr;
      PyErr_Format(PyExc_TypeError, "calling %R should have returned an instance of BaseException, not %R", type,
                   Py_TYPE(made.get()));
      return false;
    }
    given = std::move(made);
    return true;
  };
  if (!instance_of(exception, false) || is_outside_exception(tracer, exception.get())) return;
  if (!PyExceptionInstance_Check(exception.get())) {
    PyErr_SetString(PyExc_TypeError, "exceptions must derive from BaseException");
    return;
  }
  if (cause) {
    if (!instance_of(cause, true)) return;
    if (cause.is(Py_None)) cause.reset();
    if (cause && !PyExceptionInstance_Check(cause.get())) {
      PyErr_SetString(PyExc_TypeError, "exception causes must derive from BaseException");
      return;
    }
    PyException_SetCause(exception.get(), cause.release());
  }
  PyErr_SetObject(PyExceptionInstance_Class(exception.get()), exception.get());
}

bool handle_error(Tracer& tracer, Frame& frame) {
  // `raise` alone and the end of a finally clause go on with an exception that has this frame in its traceback.
  const Instruction& now = frame.current();
  current_error();  // made now: if there is no memory for it, that is the error
  // A lack of memory is the process's, at this moment: a handler in the program would be traced for every later call.
  if (now.op == Op::RAISE_VARARGS && now.arg > 0 && is_out_of_memory()) tracer.note_own_memory_error();
  look_at_error();
  if (tracer.memory.failed()) return tracer.run_out_of_memory(), false;
  const bool is_reraised = now.op == Op::RERAISE || (now.op == Op::RAISE_VARARGS && now.arg == 0);
  // An exception begins at the innermost instruction; those that it passes through have begun before.
  if (is_reraised ? tracer.breaks.raised_at < 0 : tracer.breaks.raised_at < frame.started_at) tracer.note_raise(frame);
  const Ref shown = frame_object_of(frame);
  if (shown) {
    move_traceback_frame(shown.get(), raised_at(frame) * 2);
    if (!is_reraised) add_traceback(shown.get(), now.offset, frame.line());
  }
  return enter_handler(tracer, frame);
}

bool catches_exceptions_only(PyObject* type) {
  bool all = PyTuple_Check(type) || PyExceptionClass_Check(type);
  for (Py_ssize_t i = 0; PyTuple_Check(type) && i < PyTuple_GET_SIZE(type); ++i)
    all = all && PyExceptionClass_Check(PyTuple_GET_ITEM(type, i));
  if (!all) PyErr_SetString(PyExc_TypeError, "catching classes that do not inherit from BaseException is not allowed");
  return all;
}

bool check_match(Tracer& tracer, Frame& frame) {
  Ref type = frame.pop();
  if (!catches_exceptions_only(type.get())) return false;
  guard_bases(tracer, Py_TYPE(frame.top().get()));
  frame.push(Ref::boolean(PyErr_GivenExceptionMatches(frame.top().get(), type.get())));
  return true;
}

bool before_with(Tracer& tracer, Frame& frame) {
  Ref manager = frame.pop();
  Ref enter = load_special(tracer, manager.get(), "__enter__");
  if (!enter) return false;
  Ref exit = load_special(tracer, manager.get(), "__exit__");
  if (!exit) return false;
  frame.push(std::move(exit));
  Ref entered = call(tracer, enter.get(), Arguments{});
  if (!entered) return false;
  frame.push(std::move(entered));
  return true;
}

bool push_special(Tracer& tracer, Frame& frame, SpecialMethod which) {
  Ref object = frame.pop();
  Ref method = load_special(tracer, object.get(), name_of(which));
  if (!method) return false;
  frame.push(nullptr);
  frame.push(std::move(method));
  return true;
}

bool call_exit(Tracer& tracer, Frame& frame) {
  Ref exception = frame.top(1), exit = frame.top(4);
  Ref type = Ref::borrow(PyExceptionInstance_Class(exception.get()));
  Ref suppressed = call(tracer, exit.get(), {type, exception, traceback_of(exception.get())});
  if (!suppressed) return false;
  frame.push(std::move(suppressed));
  return true;
}

bool end_wait(Tracer& tracer, Frame& frame) {
  Ref exception = frame.pop();
  frame.drop();
  frame.drop();
  if (!PyErr_GivenExceptionMatches(exception.get(), PyExc_StopIteration))
    return raise_again(tracer, std::move(exception)), false;
  Ref value = load_attribute(tracer, exception.get(), "value"_name);
  if (!value) return false;
  frame.push(std::move(value));
  return true;
}

namespace {

// A StopIteration that leaves a generator's code becomes an error of it.
Ref as_generator_error(Ref exception) {
  if (!PyErr_GivenExceptionMatches(exception.get(), PyExc_StopIteration)) return exception;
  Ref error = Ref::made(PyObject_CallFunction(PyExc_RuntimeError, "s", "generator raised StopIteration"));
  PyException_SetCause(error.get(), Ref(exception).release());
  PyException_SetContext(error.get(), exception.release());
  return error;
}

}  // namespace

Ref call_intrinsic(Tracer& tracer, int32_t number, Ref operand) {
  switch (static_cast<Intrinsic>(number)) {
    case Intrinsic::Print:
    case Intrinsic::ImportStar:
      return tracer.abort(BreakReason::ModuleCode, "an instruction of module code");
    case Intrinsic::StopIterationError:
      return as_generator_error(std::move(operand));
    case Intrinsic::TypeVar:
    case Intrinsic::ParamSpec:
    case Intrinsic::TypeVarTuple:
    case Intrinsic::SubscriptGeneric:
    case Intrinsic::TypeAlias:
      return tracer.abort(BreakReason::TypeParameters, "type parameters are bound");
  }
  return tracer.abort(BreakReason::Internal, "an intrinsic that is not known");
}

}  // namespace minidynamo
