// The instruction loop. What an instruction means for objects is in operations, attributes and calls; here is only the
// stack, control flow, exceptions and frames. One case per neutral opcode, in the order of CPython's documentation of
// `dis`.
#include "trace/evaluate.h"

#include <algorithm>

#include "bytecode/stack_depth.h"
#include "python/error_text.h"
#include "python/handled_exception.h"
#include "python/traceback.h"
#include "trace/attributes.h"
#include "trace/calls.h"
#include "trace/exception_text.h"
#include "trace/generator.h"
#include "trace/imports.h"
#include "trace/match.h"
#include "trace/operations.h"
#include "trace/outside_iterator.h"

namespace minidynamo {
namespace {

PyObject* name_at(const Frame& frame, int32_t index) noexcept {
  return PyTuple_GET_ITEM(frame.prepared->bytecode.names.get(), index);
}

PyObject* local_name(const Frame& frame, int32_t index) noexcept {
  return PyTuple_GET_ITEM(frame.prepared->bytecode.localsplus_names.get(), index);
}

Ref load_fast(Tracer& tracer, Frame& frame, int32_t index) {
  if (frame.has_untouched(index)) {
    Source* source = source_of_untouched(tracer, frame, index);
    frame.untouched_stack.push_back({frame.stack_top, index, source});
    return Ref::borrow(frame.untouched[index].raw);
  }
  if (!PyErr_Occurred())
    PyErr_Format(PyExc_UnboundLocalError, "cannot access local variable '%U' where it is not associated with a value",
                 local_name(frame, index));
  return nullptr;
}

// The operands of an instruction enter the trace, unless it only moves them.
bool touch_operands(Tracer& tracer, Frame& frame, const Instruction& now) {
  auto& waiting = frame.untouched_stack;
  while (!waiting.empty() && waiting.back().slot >= frame.stack_top) waiting.pop_back();
  if (now.op == Op::STORE_FAST || now.op == Op::POP_TOP) return true;
  const size_t first = frame.stack_top - stack_inputs(now);
  for (size_t i = waiting.size(); i-- > 0 && waiting[i].slot >= first;) {
    const Frame::UntouchedSlot entry = waiting[i];
    Ref entered = tracer.outside.enter(tracer, entry.source);
    if (!entered) return false;
    if (entry.local >= 0 && frame.untouched[entry.local].source == entry.source) {
      frame.forget_untouched(entry.local);
      frame.local(entry.local) = entered;
    }
    frame.slots[entry.slot] = std::move(entered);
    waiting.erase(waiting.begin() + static_cast<ptrdiff_t>(i));
  }
  return true;
}

void store_fast(Frame& frame, int32_t index) {
  frame.forget_untouched(index);
  auto& waiting = frame.untouched_stack;
  Ref stored = frame.pop();
  if (!waiting.empty() && waiting.back().slot == frame.stack_top) {
    if (frame.untouched.empty()) frame.untouched.resize(frame.prepared->locals_count);
    frame.untouched[index] = {stored.get(), waiting.back().source};
    waiting.pop_back();
    stored.reset();  // the source keeps it
  }
  frame.local(index) = std::move(stored);
}

// The cell in a slot: a resume function's was given to it. Entering a cell cannot fail.
const Ref& cell_in(Tracer& tracer, Frame& frame, int32_t index) {
  Ref& slot = frame.local(index);
  if (!slot) slot = touch_local(tracer, frame, index);
  return slot;
}

bool is_free_variable(const Frame& frame, int32_t index) noexcept {
  return index >= frame.prepared->locals_count - PyCode_GetNumFree(frame.code());
}

bool unbound_cell(const Frame& frame, int32_t index) {
  if (is_free_variable(frame, index)) {
    PyErr_Format(PyExc_NameError,
                 "cannot access free variable '%U' where it is not associated with a value in enclosing scope",
                 local_name(frame, index));
    add_name_context(local_name(frame, index));
  } else {
    PyErr_Format(PyExc_UnboundLocalError, "cannot access local variable '%U' where it is not associated with a value",
                 local_name(frame, index));
  }
  return false;
}

bool store_cell(Tracer& tracer, PyObject* cell, PyObject* value) {
  if (tracer.outside.source_of(cell)) {
    static PyObject* const contents = PyUnicode_InternFromString("cell_contents");
    tracer.outside.write(cell, contents, value);
    return true;
  }
  return PyCell_Set(cell, value) == 0;
}

void copy_free_variables(Tracer& tracer, Frame& frame, int32_t count) {
  PyObject* function = frame.function.get();
  PyObject* closure = PyFunction_GET_CLOSURE(function);
  Source* source = frame.is_root ? tracer.guards.function(function) : tracer.outside.source_of(function);
  Source* tuple = nullptr;
  if (source) {
    static PyObject* const name = PyUnicode_InternFromString("__closure__");
    tuple = tracer.guards.child(source, Access::Attribute, name, -1, closure);
  }
  for (int32_t i = 0; i < count; ++i) {
    PyObject* cell = PyTuple_GET_ITEM(closure, i);
    if (tuple && !tracer.outside.source_of(cell))
      tracer.outside.know(cell, tracer.guards.child(tuple, Access::Index, nullptr, i, cell));
    frame.local(frame.prepared->locals_count - count + i) = Ref::borrow(cell);
  }
}

Ref make_function(Tracer& tracer, Frame& frame, int32_t flags) {
  Ref code = frame.pop();
  Ref made = Ref::steal(PyFunction_New(code.get(), frame.globals.get()));
  if (!made) return nullptr;
  auto* function = reinterpret_cast<PyFunctionObject*>(made.get());
  if (flags & 0x08) function->func_closure = frame.pop().release();
  if (flags & 0x04) function->func_annotations = frame.pop().release();
  if (flags & 0x02) function->func_kwdefaults = frame.pop().release();
  if (flags & 0x01) function->func_defaults = frame.pop().release();
  tracer.made_functions.insert(made);
  return made;
}

Ref build_string(Frame& frame, int32_t count) {
  std::vector<PyObject*> parts(count);
  for (int32_t i = 0; i < count; ++i) parts[i] = frame.top(count - i).get();
  Ref empty = Ref::steal(PyUnicode_New(0, 0));
  Ref joined = Ref::steal(_PyUnicode_JoinArray(empty.get(), parts.data(), count));
  for (int32_t i = 0; i < count; ++i) frame.pop();
  return joined;
}

Ref format_value(Tracer& tracer, PyObject* value, PyObject* spec, int32_t conversion) {
  if (is_fake(value)) return tracer.give_up(BreakReason::TensorToText, "a tensor is formatted into a string");
  if (is_exception_from_outside(tracer, value) && !spec && conversion != 3)
    return text_of_exception(tracer, value, conversion == 2 ? "__repr__" : "__str__");
  if (!expose(tracer, value)) return nullptr;
  if (shows_address(value))
    return tracer.give_up(BreakReason::ObjectIdentity, "an object's address is put into a string");
  Ref converted = Ref::borrow(value);
  if (conversion == 1) converted = Ref::steal(PyObject_Str(value));
  if (conversion == 2) converted = Ref::steal(PyObject_Repr(value));
  if (conversion == 3) converted = Ref::steal(PyObject_ASCII(value));
  if (!converted || tracer.broken()) return nullptr;
  if (PyUnicode_CheckExact(converted.get()) && !spec) return converted;
  Ref formatted = Ref::steal(PyObject_Format(converted.get(), spec));
  return tracer.broken() ? Ref() : formatted;
}

// Pushes the items of an iterable so that the first is on top; `after` < 0: exactly `before` items, otherwise a starred
// target between `before` and `after`.
bool unpack(Tracer& tracer, Frame& frame, PyObject* iterable, int32_t before, int32_t after) {
  std::vector<Ref> items;
  if (!is_fake(iterable)) {
    if (!PyTuple_CheckExact(iterable) && !PyList_CheckExact(iterable) && !Py_TYPE(iterable)->tp_iter &&
        !PySequence_Check(iterable)) {
      PyErr_Format(PyExc_TypeError, "cannot unpack non-iterable %.200s object", Py_TYPE(iterable)->tp_name);
      return false;
    }
  }
  Ref iterator = iterator_of(tracer, iterable);
  if (!iterator) return false;
  while (after >= 0 || static_cast<int32_t>(items.size()) <= before) {
    Ref item = next_item(tracer, iterator.get());
    if (!item) {
      if (PyErr_Occurred()) return false;
      break;
    }
    items.push_back(std::move(item));
  }
  const auto count = static_cast<int32_t>(items.size());
  if (after < 0 && count != before) {
    if (count < before)
      PyErr_Format(PyExc_ValueError, "not enough values to unpack (expected %d, got %d)", before, count);
    else
      PyErr_Format(PyExc_ValueError, "too many values to unpack (expected %d)", before);
    return false;
  }
  if (after >= 0) {
    if (count < before + after) {
      PyErr_Format(PyExc_ValueError, "not enough values to unpack (expected at least %d, got %d)", before + after,
                   count);
      return false;
    }
    Ref rest = Ref::steal(PyList_New(0));
    for (int32_t i = before; i < count - after; ++i)
      if (PyList_Append(rest.get(), items[i].get()) < 0) return false;
    for (int32_t i = count - 1; i >= count - after; --i) frame.push(std::move(items[i]));
    frame.push(std::move(rest));
  }
  for (int32_t i = before - 1; i >= 0; --i) frame.push(std::move(items[i]));
  return true;
}

Ref load_special(Tracer& tracer, PyObject* object, const char* name, const char* protocol) {
  Ref interned = Ref::steal(PyUnicode_InternFromString(name));
  Ref found = lookup_in_class(tracer, Py_TYPE(object), interned.get());
  if (!found) {
    if (!PyErr_Occurred())
      PyErr_Format(PyExc_TypeError, "'%.200s' object does not support the %s", Py_TYPE(object)->tp_name, protocol);
    return nullptr;
  }
  if (PyFunction_Check(found.get())) return Ref::steal(PyMethod_New(found.get(), object));
  descrgetfunc get = Py_TYPE(found.get())->tp_descr_get;
  if (!get) return found;
  Ref bound = Ref::steal(get(found.get(), object, reinterpret_cast<PyObject*>(Py_TYPE(object))));
  return tracer.broken() ? Ref() : bound;
}

bool before_with(Tracer& tracer, Frame& frame) {
  Ref manager = frame.pop();
  Ref enter = load_special(tracer, manager.get(), "__enter__", "context manager protocol");
  if (!enter) return false;
  Ref exit = load_special(tracer, manager.get(), "__exit__", "context manager protocol (missed __exit__ method)");
  if (!exit) return false;
  frame.push(std::move(exit));
  Ref entered = call(tracer, enter.get(), Arguments{});
  if (!entered) return false;
  frame.push(std::move(entered));
  return true;
}

Ref traceback_of(PyObject* exception) {
  Ref traceback = Ref::steal(PyException_GetTraceback(exception));
  return traceback ? traceback : Ref::none();
}

// An exception from before the trace would be changed by raising it: its traceback and context.
bool is_outside_exception(Tracer& tracer, PyObject* exception) {
  if (!tracer.outside.source_of(exception) || !PyExceptionInstance_Check(exception)) return false;
  tracer.give_up(BreakReason::Exception, "an exception from before the trace is raised again");
  return true;
}

// `raise`, `raise exception`, `raise exception from cause`. Always ends with a Python error set.
void raise(Tracer& tracer, Ref exception, Ref cause) {
  if (!exception) {
    Ref handled = Ref::steal(PyErr_GetHandledException());
    if (!handled || handled.is(Py_None)) {
      PyErr_SetString(PyExc_RuntimeError, "No active exception to reraise");
      return;
    }
    if (is_outside_exception(tracer, handled.get())) return;
    Ref traceback = Ref::steal(PyException_GetTraceback(handled.get()));
    PyObject* type = PyExceptionInstance_Class(handled.get());
    PyErr_Restore(Ref::borrow(type).release(), Ref(handled).release(), traceback.release());
    return;
  }
  auto instance_of = [&](Ref& given) -> bool {
    if (!PyExceptionClass_Check(given.get())) return true;
    PyObject* type = given.get();
    Ref made = call(tracer, type, Arguments{});
    if (!made) return false;
    if (!PyExceptionInstance_Check(made.get())) {
      PyErr_Format(PyExc_TypeError, "calling %R should have returned an instance of BaseException, not %R", type,
                   Py_TYPE(made.get()));
      return false;
    }
    given = std::move(made);
    return true;
  };
  if (!instance_of(exception) || is_outside_exception(tracer, exception.get())) return;
  if (!PyExceptionInstance_Check(exception.get())) {
    PyErr_SetString(PyExc_TypeError, "exceptions must derive from BaseException");
    return;
  }
  if (cause) {
    if (!instance_of(cause)) return;
    if (cause.is(Py_None)) cause.reset();
    if (cause && !PyExceptionInstance_Check(cause.get())) {
      PyErr_SetString(PyExc_TypeError, "exception causes must derive from BaseException");
      return;
    }
    PyException_SetCause(exception.get(), cause.release());
  }
  PyErr_SetObject(PyExceptionInstance_Class(exception.get()), exception.get());
}

// The exception being raised, as one object.
Ref take_error() {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  if (traceback) PyException_SetTraceback(value, traceback);
  Ref::steal(type), Ref::steal(traceback);
  return Ref::steal(value);
}

// Enters the handler that covers the current instruction. False: none, the error leaves the frame.
bool enter_handler(Tracer& tracer, Frame& frame) {
  const ExceptionRegion* region = frame.prepared->bytecode.region_at(frame.instruction);
  if (!region) return false;
  frame.shrink_stack(region->depth);
  if (region->push_lasti) frame.push(Ref::steal(PyLong_FromLong(frame.current().offset / 2)));  // in code units
  Ref exception = take_error();
  if (is_fake_data_error(exception.get()))
    return tracer.give_up(BreakReason::DataDependent, "native code needs the data of a tensor") != nullptr;
  frame.push(std::move(exception));
  frame.instruction = region->target;
  return true;
}

// An instruction raised, or a frame that it called did. False: the error leaves this frame too.
bool handle_error(Tracer& tracer, Frame& frame) {
  // `raise` alone and the end of a finally clause go on with an exception that has this frame in its traceback.
  const Instruction& now = frame.current();
  const bool is_reraised = now.op == Op::RERAISE || (now.op == Op::RAISE_VARARGS && now.arg == 0);
  // An exception begins at the innermost instruction; those that it passes through have begun before.
  if (is_reraised ? tracer.raised_at < 0 : tracer.raised_at < frame.started_at) tracer.note_raise(frame);
  if (!is_reraised) {
    add_traceback(frame.code(), frame.globals.get(), frame.current().offset, frame.line());
  }
  return enter_handler(tracer, frame);
}

// A container that an instruction adds to: made by this code, or, behind a graph break, by the original's.
bool fill_target(Tracer& tracer, Frame& frame, int32_t depth) {
  return tracer.outside.fill_if_stand_in(tracer, frame.top(depth).get());
}

Ref call_instruction(Tracer& tracer, Frame& frame, int32_t count) {
  Ref keyword_names = std::move(frame.keyword_names);
  const bool is_method = static_cast<bool>(frame.top(count + 2));
  const size_t passed = count + (is_method ? 1 : 0);
  PyObject* callable = frame.top(passed + 1).get();
  Arguments arguments{std::span<const Ref>(&frame.top(passed), passed), keyword_names.get(), true};
  Ref result = call(tracer, callable, arguments);
  const size_t depth = frame.stack_depth() - count - 2;
  frame.shrink_stack(depth);
  return result;
}

Ref call_unpacked(Tracer& tracer, Frame& frame, bool has_keywords) {
  Ref keywords = has_keywords ? frame.pop() : Ref();
  Ref positional = frame.pop();
  Ref callable = frame.pop();
  frame.pop();  // the null below
  if (!PyTuple_CheckExact(positional.get())) {
    Ref iterator = iterator_of(tracer, positional.get());
    if (!iterator) return nullptr;
    Ref list = Ref::steal(PyList_New(0));
    for (;;) {
      Ref item = next_item(tracer, iterator.get());
      if (!item) break;
      if (PyList_Append(list.get(), item.get()) < 0) return nullptr;
    }
    if (PyErr_Occurred()) return nullptr;
    positional = Ref::steal(PyList_AsTuple(list.get()));
  }
  if (keywords && !expose(tracer, keywords.get())) return nullptr;
  return call_with(tracer, callable.get(), positional.get(), keywords.get(), true);
}

bool extend_list(Tracer& tracer, PyObject* list, PyObject* iterable) {
  if (is_fake(iterable) || is_traced_generator(iterable)) {
    Ref iterator = iterator_of(tracer, iterable);
    if (!iterator) return false;
    while (Ref item = next_item(tracer, iterator.get()))
      if (PyList_Append(list, item.get()) < 0) return false;
    return !PyErr_Occurred();
  }
  if (!expose(tracer, iterable)) return false;
  guard_special_methods(tracer, iterable, {"__iter__", "__len__"});
  if (tracer.broken()) return false;
  if (!Py_TYPE(iterable)->tp_iter && !PySequence_Check(iterable)) {
    PyErr_Format(PyExc_TypeError, "Value after * must be an iterable, not %.200s", Py_TYPE(iterable)->tp_name);
    return false;
  }
  Ref done = Ref::steal(_PyList_Extend(reinterpret_cast<PyListObject*>(list), iterable));
  return done && !tracer.broken();
}

bool merge_keywords(Tracer& tracer, PyObject* dict, PyObject* update) {
  if (!expose(tracer, update)) return false;
  if (_PyDict_MergeEx(dict, update, 2) == 0) return !tracer.broken();
  if (tracer.broken()) return false;
  return tracer.give_up(BreakReason::KeywordMerge, "** unpacking in a call raised") != nullptr;
}

}  // namespace

Source* source_of_untouched(Tracer& tracer, Frame& frame, int32_t index) {
  Untouched& waiting = frame.untouched[index];
  if (!waiting.source) waiting.source = tracer.guards.local(index, local_name(frame, index), waiting.raw);
  return waiting.source;
}

Ref touch_local(Tracer& tracer, Frame& frame, int32_t index) {
  if (!frame.has_untouched(index)) return nullptr;
  Source* source = source_of_untouched(tracer, frame, index);
  frame.forget_untouched(index);
  return tracer.outside.enter(tracer, source);
}

Outcome run(Tracer& tracer, Frame& frame, Ref& value) {
  const Bytecode& bytecode = frame.prepared->bytecode;
  const Instruction* const code = bytecode.instructions.data();
  Frame* const previous = std::exchange(tracer.frame, &frame);
  struct Restore {
    Tracer& tracer;
    Frame* previous;
    ~Restore() { tracer.frame = previous; }
  } restore{tracer, previous};

  for (;;) {
    const Instruction& now = code[frame.instruction];
    const int32_t arg = now.arg;
    frame.started_at = ++tracer.executed;
    bool ok = true;  // false: an error was raised, or the trace is given up
    // Pushes a result; a null one is a failure.
    auto result = [&](Ref object) {
      if (object)
        frame.push(std::move(object));
      else
        ok = false;
    };
    auto jump = [&]() -> bool {
      if (now.target <= frame.instruction && tracer.executed > tracer.limits.instructions) {
        tracer.give_up(BreakReason::InstructionLimit, "the trace executed more instructions than config allows");
        return false;
      }
      frame.instruction = now.target;
      return true;
    };

    if (tracer.executed == tracer.stop.executed) [[unlikely]] {
      tracer.end_here(frame);
      return Outcome::Failed;
    }
    if (tracer.executed == tracer.force_break_at && !tracer.delay_forced_break(frame)) [[unlikely]] {
      tracer.give_up(BreakReason::Forced, "a break was asked for here");
      return Outcome::Failed;
    }
    if (!frame.untouched_stack.empty() && !touch_operands(tracer, frame, now)) [[unlikely]] {
      if (tracer.broken() || !handle_error(tracer, frame)) return Outcome::Failed;
      continue;
    }

    switch (now.op) {
      case Op::NOP:
      case Op::RESUME:
        break;
      case Op::POP_TOP:
        frame.pop();
        break;
      case Op::PUSH_NULL:
        frame.push(nullptr);
        break;
      case Op::COPY:
        frame.push(frame.top(arg));
        break;
      case Op::SWAP:
        frame.top(1).swap(frame.top(arg));
        break;

      case Op::LOAD_CONST:
        frame.push(Ref::borrow(PyTuple_GET_ITEM(bytecode.consts.get(), arg)));
        break;
      case Op::LOAD_FAST: {
        Ref& slot = frame.local(arg);
        if (slot) [[likely]]
          frame.push(slot);
        else
          result(load_fast(tracer, frame, arg));
        break;
      }
      case Op::STORE_FAST:
        store_fast(frame, arg);
        break;
      case Op::DELETE_FAST:
        if (!frame.local(arg) && !frame.has_untouched(arg)) {
          result(load_fast(tracer, frame, arg));
        } else {
          frame.forget_untouched(arg);
          frame.local(arg).reset();
        }
        break;
      case Op::LOAD_GLOBAL:
        if (now.push_null) frame.push(nullptr);
        result(load_global(tracer, frame, name_at(frame, arg)));
        break;
      case Op::STORE_GLOBAL: {
        Ref stored = frame.pop();
        tracer.outside.source_or_pin(tracer, frame.globals.get());
        tracer.outside.write(frame.globals.get(), name_at(frame, arg), stored.get());
        break;
      }
      case Op::DELETE_GLOBAL:
        if (Ref present = load_global(tracer, frame, name_at(frame, arg)))
          tracer.outside.write(frame.globals.get(), name_at(frame, arg), nullptr);
        else
          ok = false;
        break;
      case Op::LOAD_NAME:
      case Op::STORE_NAME:
      case Op::DELETE_NAME:
      case Op::LOAD_CLASSDEREF:
      case Op::SETUP_ANNOTATIONS:
      case Op::LOAD_BUILD_CLASS:
        tracer.give_up(BreakReason::ClassDefinition, "a class is defined");
        ok = false;
        break;

      case Op::MAKE_CELL: {
        Ref initial = frame.local(arg);
        if (!initial) initial = touch_local(tracer, frame, arg);
        if (!initial && PyErr_Occurred()) {
          ok = false;
          break;
        }
        frame.forget_untouched(arg);
        frame.local(arg) = Ref::steal(PyCell_New(initial.get()));
        break;
      }
      case Op::COPY_FREE_VARS:
        copy_free_variables(tracer, frame, arg);
        break;
      case Op::LOAD_CLOSURE:
        frame.push(cell_in(tracer, frame, arg));
        break;
      case Op::LOAD_DEREF: {
        Ref contents = load_cell(tracer, cell_in(tracer, frame, arg).get());
        if (contents)
          frame.push(std::move(contents));
        else
          ok = !PyErr_Occurred() ? unbound_cell(frame, arg) : false;
        break;
      }
      case Op::STORE_DEREF: {
        Ref stored = frame.pop();
        ok = store_cell(tracer, cell_in(tracer, frame, arg).get(), stored.get());
        break;
      }
      case Op::DELETE_DEREF:
        if (Ref contents = load_cell(tracer, cell_in(tracer, frame, arg).get()))
          ok = store_cell(tracer, cell_in(tracer, frame, arg).get(), nullptr);
        else
          ok = !PyErr_Occurred() ? unbound_cell(frame, arg) : false;
        break;
      case Op::LOAD_ASSERTION_ERROR:
        frame.push(Ref::borrow(PyExc_AssertionError));
        break;

      case Op::LOAD_ATTR: {
        Ref object = frame.pop();
        result(load_attribute(tracer, object.get(), name_at(frame, arg)));
        break;
      }
      case Op::LOAD_METHOD: {
        Ref object = frame.pop(), callable, self;
        ok = load_method(tracer, object.get(), name_at(frame, arg), callable, self);
        if (!ok) break;
        if (self) {
          frame.push(std::move(callable));
          frame.push(std::move(self));
        } else {
          frame.push(nullptr);
          frame.push(std::move(callable));
        }
        break;
      }
      case Op::STORE_ATTR: {
        Ref object = frame.pop(), stored = frame.pop();
        ok = store_attribute(tracer, object.get(), name_at(frame, arg), stored.get());
        break;
      }
      case Op::DELETE_ATTR: {
        Ref object = frame.pop();
        ok = store_attribute(tracer, object.get(), name_at(frame, arg), nullptr);
        break;
      }

      case Op::UNARY_POSITIVE:
      case Op::UNARY_NEGATIVE:
      case Op::UNARY_INVERT: {
        Ref operand = frame.pop();
        result(unary_operation(tracer, now.op, operand.get()));
        break;
      }
      case Op::UNARY_NOT: {
        Ref operand = frame.pop();
        const int is_true = truth(tracer, operand.get());
        result(is_true < 0 ? Ref() : Ref::boolean(!is_true));
        break;
      }
      case Op::BINARY_OP: {
        Ref right = frame.pop(), left = frame.pop();
        result(binary_operation(tracer, arg, left.get(), right.get()));
        break;
      }
      case Op::BINARY_SUBSCR: {
        Ref key = frame.pop(), container = frame.pop();
        result(subscript(tracer, container.get(), key.get()));
        break;
      }
      case Op::STORE_SUBSCR: {
        Ref key = frame.pop(), container = frame.pop(), stored = frame.pop();
        ok = store_subscript(tracer, container.get(), key.get(), stored.get());
        break;
      }
      case Op::DELETE_SUBSCR: {
        Ref key = frame.pop(), container = frame.pop();
        ok = store_subscript(tracer, container.get(), key.get(), nullptr);
        break;
      }
      case Op::COMPARE_OP: {
        Ref right = frame.pop(), left = frame.pop();
        result(compare(tracer, arg, left.get(), right.get()));
        break;
      }
      case Op::IS_OP: {
        Ref right = frame.pop(), left = frame.pop();
        Ref same = is_same(tracer, left.get(), right.get());
        result(!same ? Ref() : Ref::boolean(same.is(Py_True) != (arg == 1)));
        break;
      }
      case Op::CONTAINS_OP: {
        Ref container = frame.pop(), item = frame.pop();
        const int found = contains(tracer, container.get(), item.get());
        result(found < 0 ? Ref() : Ref::boolean(found != arg));
        break;
      }

      case Op::BUILD_TUPLE:
      case Op::BUILD_LIST: {
        const bool is_tuple = now.op == Op::BUILD_TUPLE;
        Ref built = Ref::steal(is_tuple ? PyTuple_New(arg) : PyList_New(arg));
        for (int32_t i = arg - 1; i >= 0; --i) {
          Ref item = frame.pop();
          if (!tracer.outside.fill_if_stand_in(tracer, item.get())) ok = false;
          if (is_tuple)
            PyTuple_SET_ITEM(built.get(), i, item.release());
          else
            PyList_SET_ITEM(built.get(), i, item.release());
        }
        if (ok) frame.push(std::move(built));
        break;
      }
      case Op::BUILD_SET: {
        Ref built = Ref::steal(PySet_New(nullptr));
        for (int32_t i = arg; i > 0 && ok; --i)
          ok = PySet_Add(built.get(), frame.top(i).get()) == 0 && !tracer.broken();
        for (int32_t i = 0; i < arg; ++i) frame.pop();
        if (ok) frame.push(std::move(built));
        break;
      }
      case Op::BUILD_MAP: {
        Ref built = Ref::steal(PyDict_New());
        for (int32_t i = arg; i > 0 && ok; --i)
          ok = tracer.outside.fill_if_stand_in(tracer, frame.top(2 * i - 1).get()) &&
               PyDict_SetItem(built.get(), frame.top(2 * i).get(), frame.top(2 * i - 1).get()) == 0 && !tracer.broken();
        for (int32_t i = 0; i < 2 * arg; ++i) frame.pop();
        if (ok) frame.push(std::move(built));
        break;
      }
      case Op::BUILD_CONST_KEY_MAP: {
        Ref keys = frame.pop();
        Ref built = Ref::steal(PyDict_New());
        for (int32_t i = 0; i < arg && ok; ++i) {
          PyObject* item = frame.top(arg - i).get();
          ok = tracer.outside.fill_if_stand_in(tracer, item) &&
               PyDict_SetItem(built.get(), PyTuple_GET_ITEM(keys.get(), i), item) == 0;
        }
        for (int32_t i = 0; i < arg; ++i) frame.pop();
        if (ok) frame.push(std::move(built));
        break;
      }
      case Op::BUILD_STRING:
        result(build_string(frame, arg));
        break;
      case Op::BUILD_SLICE: {
        Ref step = arg == 3 ? frame.pop() : Ref(), stop = frame.pop(), start = frame.pop();
        result(Ref::steal(PySlice_New(start.get(), stop.get(), step.get())));
        break;
      }
      case Op::FORMAT_VALUE: {
        Ref spec = (arg & 4) ? frame.pop() : Ref(), formatted = frame.pop();
        result(format_value(tracer, formatted.get(), spec.get(), arg & 3));
        break;
      }
      case Op::LIST_APPEND: {
        Ref item = frame.pop();
        ok = fill_target(tracer, frame, arg) && tracer.outside.fill_if_stand_in(tracer, item.get()) &&
             PyList_Append(frame.top(arg).get(), item.get()) == 0;
        break;
      }
      case Op::LIST_EXTEND: {
        Ref iterable = frame.pop();
        ok = fill_target(tracer, frame, arg) && extend_list(tracer, frame.top(arg).get(), iterable.get());
        break;
      }
      case Op::LIST_TO_TUPLE: {
        ok = fill_target(tracer, frame, 1);
        Ref list = frame.pop();
        if (ok) result(Ref::steal(PyList_AsTuple(list.get())));
        break;
      }
      case Op::SET_ADD: {
        Ref item = frame.pop();
        ok = fill_target(tracer, frame, arg);
        if (ok) guard_as_key(tracer, frame.top(arg).get(), item.get());
        ok = ok && PySet_Add(frame.top(arg).get(), item.get()) == 0 && !tracer.broken();
        break;
      }
      case Op::SET_UPDATE: {
        Ref iterable = frame.pop();
        ok = fill_target(tracer, frame, arg) && expose(tracer, iterable.get()) &&
             _PySet_Update(frame.top(arg).get(), iterable.get()) == 0 && !tracer.broken();
        break;
      }
      case Op::MAP_ADD: {
        Ref item = frame.pop(), key = frame.pop();
        ok = fill_target(tracer, frame, arg) && tracer.outside.fill_if_stand_in(tracer, item.get()) &&
             PyDict_SetItem(frame.top(arg).get(), key.get(), item.get()) == 0 && !tracer.broken();
        break;
      }
      case Op::DICT_UPDATE: {
        Ref update = frame.pop();
        ok = fill_target(tracer, frame, arg) && expose(tracer, update.get()) &&
             PyDict_Update(frame.top(arg).get(), update.get()) == 0 && !tracer.broken();
        break;
      }
      case Op::DICT_MERGE: {
        Ref update = frame.pop();
        ok = fill_target(tracer, frame, arg) && merge_keywords(tracer, frame.top(arg).get(), update.get());
        break;
      }
      case Op::UNPACK_SEQUENCE: {
        Ref iterable = frame.pop();
        ok = unpack(tracer, frame, iterable.get(), arg, -1);
        break;
      }
      case Op::UNPACK_EX: {
        Ref iterable = frame.pop();
        ok = unpack(tracer, frame, iterable.get(), arg & 0xff, arg >> 8);
        break;
      }

      case Op::GET_ITER: {
        Ref iterable = frame.pop();
        result(iterator_of(tracer, iterable.get()));
        break;
      }
      case Op::FOR_ITER: {
        Source* untouched = nullptr;
        bool call_next = true;
        if (is_outside_iterator(frame.top().get())) untouched = take_next_source(tracer, frame.top().get(), call_next);
        if (untouched) {
          frame.untouched_stack.push_back({frame.stack_top, -1, untouched});
          frame.push(untouched->value);
          break;
        }
        Ref item = call_next && !tracer.broken() ? next_item(tracer, frame.top().get()) : Ref();
        if (item) {
          frame.push(std::move(item));
        } else if (PyErr_Occurred()) {
          ok = false;
        } else {
          frame.pop();
          frame.instruction = now.target;
          continue;
        }
        break;
      }
      case Op::GET_LEN:
        result(length(tracer, frame.top().get()));
        break;
      case Op::MATCH_MAPPING:
        frame.push(Ref::boolean(PyType_HasFeature(frame.top().type(), Py_TPFLAGS_MAPPING)));
        break;
      case Op::MATCH_SEQUENCE:
        frame.push(Ref::boolean(PyType_HasFeature(frame.top().type(), Py_TPFLAGS_SEQUENCE)));
        break;
      case Op::MATCH_KEYS:
        result(match_keys(tracer, frame.top(2).get(), frame.top(1).get()));
        break;
      case Op::MATCH_CLASS: {
        Ref names = frame.pop(), type = frame.pop(), subject = frame.pop();
        result(match_class(tracer, subject.get(), type.get(), arg, names.get()));
        break;
      }

      case Op::JUMP:
        if (jump()) continue;
        ok = false;
        break;
      case Op::POP_JUMP_IF_FALSE:
      case Op::POP_JUMP_IF_TRUE: {
        Ref condition = frame.pop();
        const int is_true = truth(tracer, condition.get());
        if (is_true < 0) {
          ok = false;
        } else if ((is_true != 0) == (now.op == Op::POP_JUMP_IF_TRUE)) {
          if (jump()) continue;
          ok = false;
        }
        break;
      }
      case Op::POP_JUMP_IF_NONE:
      case Op::POP_JUMP_IF_NOT_NONE: {
        Ref tested = frame.pop();
        if (tested.is(Py_None) == (now.op == Op::POP_JUMP_IF_NONE)) {
          if (jump()) continue;
          ok = false;
        }
        break;
      }
      case Op::JUMP_IF_FALSE_OR_POP:
      case Op::JUMP_IF_TRUE_OR_POP: {
        const int is_true = truth(tracer, frame.top().get());
        if (is_true < 0) {
          ok = false;
        } else if ((is_true != 0) == (now.op == Op::JUMP_IF_TRUE_OR_POP)) {
          if (jump()) continue;
          ok = false;
        } else {
          frame.pop();
        }
        break;
      }

      case Op::KW_NAMES:
        frame.keyword_names = Ref::borrow(PyTuple_GET_ITEM(bytecode.consts.get(), arg));
        break;
      case Op::CALL:
        result(call_instruction(tracer, frame, arg));
        break;
      case Op::CALL_FUNCTION_EX:
        result(call_unpacked(tracer, frame, arg & 1));
        break;
      case Op::MAKE_FUNCTION:
        result(make_function(tracer, frame, arg));
        break;

      case Op::RETURN_VALUE:
        value = frame.pop();
        return Outcome::Returned;
      case Op::RETURN_GENERATOR:
        value.reset();
        return Outcome::Yielded;
      case Op::YIELD_VALUE:
        value = frame.pop();
        return Outcome::Yielded;
      case Op::GET_YIELD_FROM_ITER:
        if (!is_traced_generator(frame.top().get())) {
          Ref iterable = frame.pop();
          result(iterator_of(tracer, iterable.get()));
        }
        break;
      case Op::SEND: {
        Ref sent = frame.pop(), returned;
        Ref yielded = send(tracer, frame.top().get(), sent.get(), returned);
        if (yielded) {
          frame.push(std::move(yielded));
        } else if (returned) {
          frame.top() = std::move(returned);
          frame.instruction = now.target;
          continue;
        } else {
          ok = false;
        }
        break;
      }
      case Op::ASYNC_GEN_WRAP:
      case Op::GET_AWAITABLE:
      case Op::GET_AITER:
      case Op::GET_ANEXT:
      case Op::END_ASYNC_FOR:
      case Op::BEFORE_ASYNC_WITH:
        tracer.give_up(BreakReason::Coroutine, "asynchronous code is not traced");
        ok = false;
        break;

      case Op::BEFORE_WITH:
        ok = before_with(tracer, frame);
        break;
      case Op::WITH_EXCEPT_START: {
        Ref exception = frame.top(1), exit = frame.top(4);
        Ref type = Ref::borrow(PyExceptionInstance_Class(exception.get()));
        result(call(tracer, exit.get(), {type, exception, traceback_of(exception.get())}));
        break;
      }
      case Op::PUSH_EXC_INFO: {
        Ref exception = frame.pop();
        Ref handled = innermost_handled();
        set_innermost_handled(exception.get());
        frame.push(std::move(handled));
        frame.push(std::move(exception));
        break;
      }
      case Op::POP_EXCEPT: {
        Ref handled = frame.pop();
        set_innermost_handled(handled.get());
        break;
      }
      case Op::CHECK_EXC_MATCH: {
        Ref type = frame.pop();
        if (!PyExceptionClass_Check(type.get()) && !PyTuple_Check(type.get())) {
          PyErr_SetString(PyExc_TypeError, "catching classes that do not inherit from BaseException is not allowed");
          ok = false;
          break;
        }
        frame.push(Ref::boolean(PyErr_GivenExceptionMatches(frame.top().get(), type.get())));
        break;
      }
      case Op::CHECK_EG_MATCH:
      case Op::PREP_RERAISE_STAR:
        tracer.give_up(BreakReason::ExceptStar, "except* is not traced");
        ok = false;
        break;
      case Op::RERAISE: {
        Ref exception = frame.pop();
        if (is_outside_exception(tracer, exception.get())) {
          ok = false;
          break;
        }
        Ref traceback = Ref::steal(PyException_GetTraceback(exception.get()));
        PyObject* type = PyExceptionInstance_Class(exception.get());
        PyErr_Restore(Ref::borrow(type).release(), exception.release(), traceback.release());
        ok = false;
        break;
      }
      case Op::RAISE_VARARGS: {
        Ref cause = arg == 2 ? frame.pop() : Ref(), exception = arg >= 1 ? frame.pop() : Ref();
        raise(tracer, std::move(exception), std::move(cause));
        ok = false;
        break;
      }

      case Op::IMPORT_NAME: {
        Ref names = frame.pop(), level = frame.pop();
        result(import_name(tracer, frame, name_at(frame, arg), names.get(), level.get()));
        break;
      }
      case Op::IMPORT_FROM:
        result(import_from(tracer, frame.top().get(), name_at(frame, arg)));
        break;
      case Op::IMPORT_STAR:
      case Op::PRINT_EXPR:
        tracer.give_up(BreakReason::ModuleCode, "an instruction of module code");
        ok = false;
        break;
    }

    if (!ok) [[unlikely]] {
      if (!PyErr_Occurred())
        tracer.give_up(BreakReason::Internal, std::string(op_name(now.op)) + " failed without an error");
      if (tracer.broken() || !handle_error(tracer, frame)) return Outcome::Failed;
      continue;
    }
    ++frame.instruction;
  }
}

Outcome run_throwing(Tracer& tracer, Frame& frame, Ref& value) {
  // The error is raised by the instruction that the generator is suspended at.
  frame.started_at = tracer.executed;
  if (!handle_error(tracer, frame)) return Outcome::Failed;
  return run(tracer, frame, value);
}

Ref evaluate(Tracer& tracer, std::unique_ptr<Frame> frame) {
  if (tracer.depth >= tracer.limits.depth)
    return tracer.give_up(BreakReason::DepthLimit, "calls are nested deeper than config allows");
  if (frame->code()->co_flags & (CO_COROUTINE | CO_ASYNC_GENERATOR | CO_ITERABLE_COROUTINE))
    return tracer.give_up(BreakReason::Coroutine, "asynchronous code is not traced");
  ++tracer.depth;
  Ref value;
  const Outcome outcome = run(tracer, *frame, value);
  --tracer.depth;
  if (outcome == Outcome::Failed) return nullptr;
  if (outcome == Outcome::Yielded) return make_generator(tracer, std::move(frame));
  return value;
}

}  // namespace minidynamo
