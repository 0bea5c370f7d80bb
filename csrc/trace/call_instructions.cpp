#include "trace/call_instructions.h"

#include "model/protocols/abstract.h"
#include "model/protocols/arguments.h"
#include "python/code/annotations.h"
#include "python/unstable.h"
#include "world/native/native_code.h"

namespace minidynamo {
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
  frame.drop();  // the null below
  if (!PyTuple_CheckExact(positional.get())) {
    // CPython's text for it asks the callable what it is called.
    if (!positional.type()->tp_iter && !PySequence_Check(positional.get()) &&
        prepare_for_native(tracer, positional.get()))
      return tracer.abort(BreakReason::KeywordMerge, "* unpacking in a call raised");
    Ref iterator = iterator_of(tracer, positional.get());
    if (!iterator) return nullptr;
    Ref list = Ref::made(PyList_New(0));
    for (; list;) {
      Ref item = next_item(tracer, iterator.get());
      if (!item) break;
      if (PyList_Append(list.get(), item.get()) < 0) return nullptr;
    }
    if (PyErr_Occurred()) return nullptr;
    positional = Ref::steal(PyList_AsTuple(list.get()));
    if (!positional) return nullptr;
  }
  if (keywords && !prepare_for_native(tracer, keywords.get())) return nullptr;
  return call_with(tracer, callable.get(), positional.get(), keywords.get(), true);
}

Ref call_super(Tracer& tracer, Frame& frame, bool has_arguments) {
  Ref object = frame.pop(), type = frame.pop(), callable = frame.pop();
  const bool is_builtin = callable.is(as_object(&PySuper_Type));
  const bool fits = PyType_Check(type.get()) &&
                    (PyType_IsSubtype(object.type(), as_type(type.get())) ||
                     (PyType_Check(object.get()) && PyType_IsSubtype(as_type(object.get()), as_type(type.get()))));
  if (is_builtin && fits)  // asks nothing of the program's
    return Ref::steal(PyObject_CallFunctionObjArgs(callable.get(), type.get(), object.get(), nullptr));
  if (has_arguments || is_builtin) return call(tracer, callable.get(), {std::move(type), std::move(object)});
  return call(tracer, callable.get(), Arguments{});
}

bool push_method(Tracer& tracer, Frame& frame, PyObject* object, PyObject* name) {
  Ref callable, self;
  if (!load_method(tracer, object, name, callable, self)) return false;
  if (self) {
    frame.push(std::move(callable));
    frame.push(std::move(self));
  } else {
    frame.push(nullptr);
    frame.push(std::move(callable));
  }
  return true;
}

Ref make_function(Tracer& tracer, Frame& frame, int32_t flags) {
  Ref code = frame.pop();
  Ref made = Ref::made(PyFunction_New(code.get(), frame.globals.get()));
  auto* function = as_function(made.get());
  if (flags & 0x08) function->func_closure = frame.pop().release();
  if (flags & 0x10) set_annotations_maker(function, frame.pop());
  if (flags & 0x04) function->func_annotations = frame.pop().release();
  if (flags & 0x02) function->func_kwdefaults = frame.pop().release();
  if (flags & 0x01) function->func_defaults = frame.pop().release();
  tracer.made.functions.insert(made);
  return made;
}

}  // namespace minidynamo
