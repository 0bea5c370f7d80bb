// The exceptions are real, and so is BaseExceptionGroup.split. Only the call of `derive` behind `raise` is made here:
// it may be Python code. A group from before the trace is not taken apart, since nothing guards what it holds.
#include "trace/except_star.h"

#include "library/rules/handlers.h"
#include "model/native/native_call.h"
#include "model/objects/frame_object.h"
#include "model/protocols/abstract.h"
#include "model/protocols/arguments.h"
#include "python/code/traceback.h"
#include "python/handled_exception.h"
#include "python/process/out_of_memory.h"
#include "python/unstable.h"
#include "trace/container_instructions.h"
#include "trace/exceptions.h"
#include "world/external/class_lookup.h"

namespace minidynamo {
namespace {

bool is_group(PyObject* exception) noexcept { return PyObject_TypeCheck(exception, as_type(PyExc_BaseExceptionGroup)); }

PyObject* exceptions_of(PyObject* group) noexcept { return reinterpret_cast<PyBaseExceptionGroupObject*>(group)->excs; }

Ref group_of(PyObject* exceptions) {
  return Ref::steal(PyObject_CallFunction(PyExc_BaseExceptionGroup, "sO", "", exceptions));
}

// The classes of the groups in `exception` are asked for what splitting it calls. False: the trace is given up, since a
// group is from before it.
bool guard_group(Tracer& tracer, PyObject* exception) {
  static PyObject* const names[] = {"derive"_name, "__notes__"_name};
  std::vector<PyObject*> open{exception};
  while (!open.empty()) {
    PyObject* group = open.back();
    open.pop_back();
    if (!is_group(group)) continue;
    if (tracer.world.source_of(group))
      return tracer.abort(BreakReason::ExceptStar, "an exception group from before the trace is split") != nullptr;
    for (PyObject* name : names) (void)lookup_in_class(tracer, Py_TYPE(group), name);
    if (tracer.is_over()) return false;
    PyObject* held = exceptions_of(group);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(held); ++i) open.push_back(PyTuple_GET_ITEM(held, i));
  }
  return true;
}

// True if `except*` takes the class or classes; otherwise a TypeError.
bool is_valid_type(PyObject* type) {
  if (!catches_exceptions_only(type)) return false;
  auto is_for_groups = [](PyObject* one) { return PyType_IsSubtype(as_type(one), as_type(PyExc_BaseExceptionGroup)); };
  bool valid = true;
  if (PyTuple_Check(type)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(type); ++i) valid = valid && !is_for_groups(PyTuple_GET_ITEM(type, i));
  } else {
    valid = !is_for_groups(type);
  }
  if (!valid)
    PyErr_SetString(PyExc_TypeError, "catching ExceptionGroup with except* is not allowed. Use except instead.");
  return valid;
}

// The group that an exception is put into which is none. Null: an error.
Ref wrapped(Frame& frame, PyObject* exception) {
  Ref alone = Ref::made(PyTuple_Pack(1, exception));
  Ref group = group_of(alone.get());
  if (!group || !wrapped_exceptions_have_tracebacks()) return group;
  Ref shown = frame_object_of(frame);
  if (!shown) return group;
  Ref entry = traceback_entry(Py_None, shown.get(), frame.current().offset, frame.line());
  if (!entry || PyException_SetTraceback(group.get(), entry.get()) < 0) return nullptr;
  return group;
}

bool split(Tracer& tracer, Frame& frame, PyObject* type, Ref& match, Ref& rest) {
  PyObject* exception = frame.top().get();
  if (exception == Py_None) {
    match = rest = Ref::none();
    return true;
  }
  guard_class_check(tracer, exception, type);
  if (tracer.is_over()) return false;
  if (PyErr_GivenExceptionMatches(exception, type)) {
    rest = Ref::none();
    match = is_group(exception) ? Ref::borrow(exception) : wrapped(frame, exception);
    return static_cast<bool>(match);
  }
  if (!is_group(exception)) {
    match = Ref::none();
    rest = Ref::borrow(exception);
    return true;
  }
  if (!guard_group(tracer, exception)) return false;
  Ref method = load_attribute(tracer, exception, "split"_name);
  Ref pair = method ? call(tracer, method.get(), {Ref::borrow(type)}) : Ref();
  if (!pair) return false;
  if (!PyTuple_CheckExact(pair.get()) || PyTuple_GET_SIZE(pair.get()) != 2)  // CPython 3.11 crashes
    return tracer.abort(BreakReason::ExceptStar, "split() of an exception group returns no pair") != nullptr;
  match = Ref::borrow(PyTuple_GET_ITEM(pair.get(), 0));
  rest = Ref::borrow(PyTuple_GET_ITEM(pair.get(), 1));
  return true;
}

// The exceptions in a group, at any depth, that are no groups.
void collect_leaves(PyObject* exception, std::unordered_set<PyObject*>& leaves) {
  std::vector<PyObject*> open{exception};
  while (!open.empty()) {
    PyObject* one = open.back();
    open.pop_back();
    if (!is_group(one)) {
      leaves.insert(one);
      continue;
    }
    PyObject* held = exceptions_of(one);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(held); ++i) open.push_back(PyTuple_GET_ITEM(held, i));
  }
}

// A group like `original` with other exceptions in it.
Ref derive(Tracer& tracer, PyObject* original, PyObject* exceptions) {
  Ref method = load_attribute(tracer, original, "derive"_name);
  Ref made = method ? call(tracer, method.get(), {Ref::borrow(exceptions)}) : Ref();
  if (!made) return nullptr;
  if (!is_group(made.get())) {
    PyErr_SetString(PyExc_TypeError, "derive must return an instance of BaseExceptionGroup");
    return nullptr;
  }
  if (Ref traceback = Ref::steal(PyException_GetTraceback(original)))
    if (PyException_SetTraceback(made.get(), traceback.get()) < 0) return nullptr;
  PyException_SetContext(made.get(), PyException_GetContext(original));
  PyException_SetCause(made.get(), PyException_GetCause(original));
  Ref notes = Ref::steal(PyObject_GetAttr(original, "__notes__"_name));
  if (!notes) {
    if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return nullptr;
    clear_error();
  } else if (PySequence_Check(notes.get())) {
    Ref copy = Ref::steal(PySequence_List(notes.get()));
    if (!copy || PyObject_SetAttr(made.get(), "__notes__"_name, copy.get()) < 0) return nullptr;
  }
  return made;
}

// The part of a group that is among the leaves: an exception of it, or a group; None: nothing. Null: an error.
Ref project(Tracer& tracer, PyObject* exception, const std::unordered_set<PyObject*>& leaves) {
  if (!is_group(exception)) return leaves.count(exception) ? Ref::borrow(exception) : Ref::none();
  Ref kept = Ref::made(PyList_New(0));
  if (Py_EnterRecursiveCall(" in exceptiongroup_split_recursive")) return nullptr;
  PyObject* held = exceptions_of(exception);
  for (Py_ssize_t i = 0; kept && i < PyTuple_GET_SIZE(held); ++i) {
    Ref part = project(tracer, PyTuple_GET_ITEM(held, i), leaves);
    if (!part || (!part.is(Py_None) && PyList_Append(kept.get(), part.get()) < 0)) kept.reset();
  }
  Py_LeaveRecursiveCall();
  if (!kept) return nullptr;
  return PyList_GET_SIZE(kept.get()) ? derive(tracer, exception, kept.get()) : Ref::none();
}

// An exception that a clause raised again has what the original has; a new one has its own.
bool is_part_of(PyObject* exception, PyObject* original) noexcept {
  auto* left = reinterpret_cast<PyBaseExceptionObject*>(exception);
  auto* right = reinterpret_cast<PyBaseExceptionObject*>(original);
  return left->notes == right->notes && left->traceback == right->traceback && left->cause == right->cause &&
         left->context == right->context;
}

Ref exception_to_raise(Tracer& tracer, PyObject* original, PyObject* raised) {
  bool any = false, any_outside = tracer.world.source_of(original) && is_group(original);
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(raised); ++i) {
    PyObject* one = PyList_GET_ITEM(raised, i);
    any |= one != Py_None;
    any_outside |= tracer.world.source_of(one) && one != Py_None && is_group(original);
  }
  if (!any) return Ref::none();
  if (!is_group(original)) return Ref::borrow(PyList_GET_ITEM(raised, 0));  // one clause at most has run
  if (any_outside || !guard_group(tracer, original))
    return tracer.abort(BreakReason::ExceptStar, "an exception group from before the trace is put together");
  Ref added = Ref::made(PyList_New(0));
  std::unordered_set<PyObject*> leaves;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(raised); ++i) {
    PyObject* one = PyList_GET_ITEM(raised, i);
    if (one == Py_None) continue;
    if (is_part_of(one, original))
      collect_leaves(one, leaves);
    else if (PyList_Append(added.get(), one) < 0)
      return nullptr;
  }
  Ref again = project(tracer, original, leaves);
  if (!again || PyList_GET_SIZE(added.get()) == 0) return again;
  if (!again.is(Py_None) && PyList_Append(added.get(), again.get()) < 0) return nullptr;
  if (PyList_GET_SIZE(added.get()) == 1) return Ref::borrow(PyList_GET_ITEM(added.get(), 0));
  return group_of(added.get());
}

}  // namespace

bool check_group_match(Tracer& tracer, Frame& frame) {
  Ref type = frame.pop();
  if (!is_valid_type(type.get())) return false;
  Ref match, rest;
  if (!split(tracer, frame, type.get(), match, rest)) return false;
  if (!match.is(Py_None)) {
    set_innermost_handled(match.get());
    frame.top() = std::move(rest);
  }
  frame.push(std::move(match));
  return true;
}

bool prepare_reraise_star(Tracer& tracer, Frame& frame) {
  if (!fill_target(tracer, frame, 1)) return false;
  Ref raised = frame.pop(), original = frame.pop();
  Ref result = exception_to_raise(tracer, original.get(), raised.get());
  if (!result) return false;
  frame.push(std::move(result));
  return true;
}

Ref handlers::exception_group_split(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (arguments.values.empty() || !guard_group(tracer, arguments.values[0].get())) {
    if (tracer.is_over()) return nullptr;
    return call_natively(tracer, callable, arguments);
  }
  Ref name = Ref::made(PyObject_GetAttrString(callable, "__name__"));
  Ref method = Ref::made(PyObject_GetAttr(PyExc_BaseExceptionGroup, name.get()));
  return call_natively(tracer, method.get(), arguments);
}

}  // namespace minidynamo
