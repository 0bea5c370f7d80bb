#include "model/objects/generator.h"

#include "model/protocols/abstract.h"
#include "model/protocols/arguments.h"
#include "model/protocols/upward.h"
#include "python/cached.h"
#include "python/error_set_aside.h"
#include "python/error_text.h"
#include "python/handled_exception.h"
#include "python/process/out_of_memory.h"
#include "python/unstable.h"

namespace minidynamo {
namespace {

// A generator of the trace. It is an ordinary Python iterator, so C code (tuple(), all(), zip()) may drive it; it runs
// only while its trace does.
struct GeneratorObject {
  PyObject_HEAD Frame* frame;        // owned; null when finished
  HandledEntry* handled;             // owned, with the frame
  Tracer* tracer;                    // the trace that made it
  PyObject *name, *qualname, *code;  // owned
  bool started, running;
};

extern PyTypeObject generator_type;

GeneratorObject* as_generator(PyObject* object) noexcept { return reinterpret_cast<GeneratorObject*>(object); }

void finish(GeneratorObject* generator) noexcept {
  delete std::exchange(generator->frame, nullptr);
  delete std::exchange(generator->handled, nullptr);
}

// While one lives, the generator's frame is the innermost one.
class Running {
 public:
  Running(Tracer& tracer, GeneratorObject& generator) noexcept : tracer_(tracer), generator_(generator) {
    generator.frame->caller = tracer.frame;
    generator.handled->push();
    generator.running = true;
    ++tracer.depth;
  }
  ~Running() {
    generator_.started = true;
    --tracer_.depth;
    generator_.running = false;
    generator_.handled->pop();
    generator_.frame->caller = nullptr;
  }
  Running(const Running&) = delete;

 private:
  Tracer& tracer_;
  GeneratorObject& generator_;
};

// Runs on to the next yield. Null Ref without error: `returned` is set.
Ref advance(GeneratorObject* generator, Ref sent, bool throwing, Ref& returned) {
  Tracer* tracer = Tracer::current();
  if (tracer != generator->tracer) {
    PyErr_SetString(PyExc_RuntimeError, "minidynamo: a generator of a trace was used after the trace");
    return nullptr;
  }
  if (generator->running) {
    PyErr_SetString(PyExc_ValueError, "generator already executing");
    return nullptr;
  }
  if (!generator->frame) {
    if (!throwing) returned = Ref::none();
    return nullptr;  // throwing: the error that was to be thrown is the result
  }
  if (tracer->depth >= tracer->limits.depth)
    return tracer->abort(BreakReason::DepthLimit, "calls are nested deeper than config allows");
  Ref keep_alive = Ref::borrow(as_object(generator));
  Frame& frame = *generator->frame;
  Ref value;
  Outcome outcome;
  {
    const Running running(*tracer, *generator);
    if (throwing) {
      chain_to_handled();
      frame.push(Ref::none());  // in the place of what would be sent: a handler's depth counts it
      outcome = run_throwing(*tracer, frame, value);
    } else {
      frame.push(std::move(sent));
      ++frame.instruction;
      outcome = run(*tracer, frame, value);
    }
  }
  if (outcome == Outcome::Yielded) return value;
  finish(generator);
  if (outcome == Outcome::Returned) {
    returned = std::move(value);
  } else if (!tracer->is_over() && PyErr_ExceptionMatches(PyExc_StopIteration)) {
    raise_from_current(PyExc_RuntimeError, "generator raised StopIteration");
  }
  return nullptr;
}

PyObject* stop_iteration(const Ref& returned) {
  if (returned.is(Py_None))
    PyErr_SetNone(PyExc_StopIteration);
  else
    set_stop_iteration(returned.get());
  return nullptr;
}

PyObject* generator_next(PyObject* self) {
  Ref returned;
  Ref value = advance(as_generator(self), Ref::none(), false, returned);
  if (!value && returned && !returned.is(Py_None)) set_stop_iteration(returned.get());
  return value.release();
}

PyObject* generator_send(PyObject* self, PyObject* sent) {
  GeneratorObject* generator = as_generator(self);
  if (!generator->started && generator->frame && sent != Py_None) {
    PyErr_SetString(PyExc_TypeError, "can't send non-None value to a just-started generator");
    return nullptr;
  }
  Ref returned;
  Ref value = advance(generator, Ref::borrow(sent), false, returned);
  return !value && returned ? stop_iteration(returned) : value.release();
}

PyObject* generator_throw(PyObject* self, PyObject* args) {
  PyObject *type, *value = nullptr, *traceback = nullptr;
  if (!PyArg_UnpackTuple(args, "throw", 1, 3, &type, &value, &traceback)) return nullptr;
  if (kThrowOfPartsWarns && value)
    return as_generator(self)->tracer->abort(BreakReason::Warning, "throw() of a type and a value warns");
  if (traceback == Py_None) traceback = nullptr;
  if (PyExceptionInstance_Check(type)) {
    if (value && value != Py_None) {
      PyErr_SetString(PyExc_TypeError, "instance exception may not have a separate value");
      return nullptr;
    }
    Ref own = traceback ? Ref::borrow(traceback) : Ref::steal(PyException_GetTraceback(type));
    PyErr_Restore(Ref::borrow(PyExceptionInstance_Class(type)).release(), Ref::borrow(type).release(), own.release());
  } else if (PyExceptionClass_Check(type)) {
    PyErr_Restore(Ref::borrow(type).release(), Ref::borrow(value).release(), Ref::borrow(traceback).release());
    current_error();  // made now, so that errors of its constructor come here
  } else {
    PyErr_Format(PyExc_TypeError, "exceptions must be classes or instances deriving from BaseException, not %s",
                 Py_TYPE(type)->tp_name);
    return nullptr;
  }
  Ref returned;
  Ref next = throw_into(*Tracer::current(), self, returned);
  return !next && returned ? stop_iteration(returned) : next.release();
}

PyObject* generator_close(PyObject* self, PyObject*) {
  GeneratorObject* generator = as_generator(self);
  if (!generator->frame) Py_RETURN_NONE;
  if (!generator->started) {
    finish(generator);
    Py_RETURN_NONE;
  }
  PyErr_SetNone(PyExc_GeneratorExit);
  Ref returned;
  Ref value = throw_into(*generator->tracer, self, returned);
  if (value) {
    PyErr_SetString(PyExc_RuntimeError, "generator ignored GeneratorExit");
    return nullptr;
  }
  if (!returned) {
    if (!PyErr_ExceptionMatches(PyExc_GeneratorExit) && !PyErr_ExceptionMatches(PyExc_StopIteration)) return nullptr;
    clear_error();
  }
  return (returned && kCloseGivesResult ? returned : Ref::none()).release();
}

bool stands_in_region(const GeneratorObject* generator) {
  return generator->frame && generator->started && !generator->running &&
         generator->frame->prepared->bytecode.block_at(generator->frame->instruction);
}

// A generator that is dropped inside try or with runs the rest of that block, as CPython's does.
void close_when_dropped(PyObject* self) {
  GeneratorObject* generator = as_generator(self);
  Tracer* tracer = Tracer::current();
  if (!stands_in_region(generator) || tracer != generator->tracer || tracer->is_over()) return;
  ErrorSetAside error;
  Py_SET_REFCNT(self, 1);  // alive for the call
  Ref closed = Ref::steal(generator_close(self, nullptr));
  if (!closed && !tracer->is_over()) {
    clear_error();
    tracer->abort(BreakReason::GeneratorFinalizer, "a generator raised while it was being dropped");
  }
  Py_SET_REFCNT(self, 0);
  if (tracer->is_over()) error.drop();
}

void generator_dealloc(PyObject* self) {
  close_when_dropped(self);
  if (Tracer* tracer = Tracer::current(); tracer == as_generator(self)->tracer) tracer->made.generators.erase(self);
  finish(as_generator(self));
  for (PyObject* part : {as_generator(self)->name, as_generator(self)->qualname, as_generator(self)->code})
    Ref::drop(part);
  PyObject_Free(self);
}

PyMethodDef generator_methods[] = {
    {"send", entry<generator_send>, METH_O, nullptr},
    {"throw", entry<generator_throw>, METH_VARARGS, nullptr},
    {"close", entry<generator_close>, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

// `yield from`: the iterator that a suspended generator waits for, or null.
PyObject* delegate(const Frame& frame) noexcept {
  const auto& code = frame.prepared->bytecode.instructions;
  const size_t next = frame.instruction + 1;
  if (code[frame.instruction].op != Op::YIELD_VALUE || next >= code.size() || code[next].op != Op::RESUME ||
      code[next].arg < 2)
    return nullptr;
  return frame.slots[frame.stack_top - 1].get();
}

// Attributes that CPython's generators have, as far as a trace can tell; what is missing here is a break.
const Frame& frame_of(PyObject* self) noexcept { return *as_generator(self)->frame; }

PyObject* generator_name(PyObject* self, void*) { return Ref::borrow(as_generator(self)->name).release(); }
PyObject* generator_qualname(PyObject* self, void*) { return Ref::borrow(as_generator(self)->qualname).release(); }
PyObject* generator_code(PyObject* self, void*) { return Ref::borrow(as_generator(self)->code).release(); }
PyObject* generator_running(PyObject* self, void*) { return PyBool_FromLong(as_generator(self)->running); }
PyObject* generator_suspended(PyObject* self, void*) {
  const GeneratorObject* generator = as_generator(self);
  return PyBool_FromLong(generator->frame && generator->started && !generator->running);
}
PyObject* generator_awaited(PyObject* self, void*) {
  const GeneratorObject* generator = as_generator(self);
  PyObject* inner = generator->frame && generator->started && !generator->running ? delegate(frame_of(self)) : nullptr;
  return Ref::borrow(inner ? inner : Py_None).release();
}
int set_generator_name(PyObject*, PyObject*, void*) {
  Tracer::current()->abort(BreakReason::OpaqueObject, "a generator is given another name");
  return -1;
}

PyGetSetDef generator_attributes[] = {
    {"__name__", entry<generator_name>, entry<set_generator_name>, nullptr, nullptr},
    {"__qualname__", entry<generator_qualname>, entry<set_generator_name>, nullptr, nullptr},
    {"gi_code", entry<generator_code>, nullptr, nullptr, nullptr},
    {"gi_running", entry<generator_running>, nullptr, nullptr, nullptr},
    {"gi_suspended", entry<generator_suspended>, nullptr, nullptr, nullptr},
    {"gi_yieldfrom", entry<generator_awaited>, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyTypeObject make_generator_type() {
  PyTypeObject type = {PyVarObject_HEAD_INIT(nullptr, 0)};
  type.tp_name = "generator";
  type.tp_basicsize = sizeof(GeneratorObject);
  type.tp_dealloc = generator_dealloc;
  type.tp_flags = Py_TPFLAGS_DEFAULT;
  type.tp_iter = PyObject_SelfIter;
  type.tp_iternext = entry<generator_next>;
  type.tp_methods = generator_methods;
  type.tp_getset = generator_attributes;
  return type;
}

PyTypeObject generator_type = make_generator_type();

}  // namespace

Ref make_generator(Tracer& tracer, std::unique_ptr<Frame> frame) {
  make_ready(generator_type);
  auto handled = std::make_unique<HandledEntry>();
  Ref object = Ref::made(as_object(PyObject_New(GeneratorObject, &generator_type)));
  GeneratorObject* generator = as_generator(object.get());
  frame->caller = nullptr;
  frame->called_directly = false;
  const auto* maker = as_function(frame->function.get());
  generator->name = Ref::borrow(maker->func_name).release();
  generator->qualname = Ref::borrow(maker->func_qualname).release();
  generator->code = Ref::borrow(maker->func_code).release();
  generator->frame = frame.release();
  generator->handled = handled.release();
  generator->tracer = &tracer;
  tracer.made.generators.insert(object.get());
  generator->started = generator->running = false;
  return object;
}

PyTypeObject* traced_generator_type() noexcept { return &generator_type; }

Frame* frame_of_generator(PyObject* object) noexcept {
  return as_generator(object)->running ? nullptr : as_generator(object)->frame;
}

bool runs_when_dropped(PyObject* generator) noexcept { return stands_in_region(as_generator(generator)); }

bool is_traced_generator(PyObject* object) noexcept { return Py_IS_TYPE(object, &generator_type); }

namespace {

// The value that the current StopIteration carries; the error is cleared. Null Ref: another error is set.
Ref value_of_stop() {
  PyObject* result = nullptr;
  if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_StopIteration) && take_stop_iteration(result))
    return Ref::steal(result);
  return nullptr;
}

}  // namespace

Ref send(Tracer& tracer, PyObject* receiver, PyObject* value, Ref& returned) {
  if (is_traced_generator(receiver)) return advance(as_generator(receiver), Ref::borrow(value), false, returned);
  Ref item;
  if (value == Py_None) {
    item = next_or_stop(tracer, receiver);
    if (!item && !PyErr_Occurred()) returned = Ref::none();
  } else {
    Ref method = load_attribute(tracer, receiver, "send"_name);
    item = method ? call(tracer, method.get(), {Ref::borrow(value)}) : Ref();
  }
  if (!item && !tracer.is_over() && !returned) returned = value_of_stop();
  return item;
}

namespace {

// The current Python error goes to what a generator waits for in `yield from`. What that yields is the result; if it
// ends, `returned` is set, or an error, which is the generator's to handle. `is_over`: the error is the caller's.
Ref throw_into_delegate(Tracer& tracer, PyObject* inner, Ref& returned, bool& is_over) {
  const bool is_exit = PyErr_ExceptionMatches(PyExc_GeneratorExit);
  const bool is_own = is_traced_generator(inner);
  if (is_own && !is_exit) return throw_into(tracer, inner, returned);
  const Ref thrown = take_error();
  Ref method = is_own ? Ref() : load_attribute(tracer, inner, is_exit ? "close"_name : "throw"_name);
  if (!is_own && !method) {
    is_over = !tracer.is_over() && !PyErr_ExceptionMatches(PyExc_AttributeError);
    if (is_over && is_exit)  // CPython says so on stderr, and goes on
      return tracer.abort(BreakReason::GeneratorFinalizer, "an iterator's close() cannot be looked up");
    if (!is_over && !tracer.is_over()) clear_error(), set_error(thrown);
    return nullptr;
  }
  if (is_exit) {
    Ref closed = is_own ? Ref::steal(generator_close(inner, nullptr)) : call(tracer, method.get(), Arguments{});
    if (closed) set_error(thrown);
    return nullptr;
  }
  Ref item = call(tracer, method.get(), {thrown});
  if (!item && !tracer.is_over()) returned = value_of_stop();
  return item;
}

}  // namespace

Ref throw_into(Tracer& tracer, PyObject* object, Ref& returned) {
  GeneratorObject* generator = as_generator(object);
  if (generator->frame && !generator->running) {
    Frame& frame = *generator->frame;
    PyObject* inner = delegate(frame);
    if (inner) {
      Ref keep_alive = Ref::borrow(inner);
      Ref inner_returned;
      bool is_over = false;
      Ref value = throw_into_delegate(tracer, inner, inner_returned, is_over);
      if (value || is_over || tracer.is_over()) return value;
      if (inner_returned) {  // the SEND that waits for it goes on with what it returned
        frame.drop();
        const auto& code = frame.prepared->bytecode.instructions;
        frame.instruction = code[code[frame.instruction + 2].target].target - 1;
        return advance(generator, std::move(inner_returned), false, returned);
      }
    }
  }
  return advance(generator, nullptr, true, returned);
}

}  // namespace minidynamo
