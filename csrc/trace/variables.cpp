#include "trace/variables.h"

#include <algorithm>

#include "bytecode/op_facts.h"
#include "model/objects/object_end.h"
#include "python/error_text.h"
#include "world/external/enter.h"
#include "world/external/scope.h"

namespace minidynamo {
namespace {

bool is_free_variable(const Frame& frame, int32_t index) noexcept {
  return index >= frame.prepared->locals_count - PyCode_GetNumFree(frame.code());
}

}  // namespace

void delete_fast(Tracer& tracer, Frame& frame, int32_t index) {
  note_deleted(tracer, frame, index);
  frame.forget_lazy_local(index);
  frame.local(index).reset();
}

void take_fast(Tracer& tracer, Frame& frame, int32_t index) {
  if (!frame.has_lazy_local(index)) return frame.push(std::move(frame.local(index)));
  frame.lazy_stack.push_back({frame.stack_top, -1, source_of_untouched(tracer, frame, index)});
  frame.push(Ref::borrow(frame.lazy_locals[index].raw));
  frame.forget_lazy_local(index);
}

Ref load_fast(Tracer& tracer, Frame& frame, int32_t index) {
  if (frame.has_lazy_local(index)) {
    Source* source = source_of_untouched(tracer, frame, index);
    frame.lazy_stack.push_back({frame.stack_top, index, source});
    return Ref::borrow(frame.lazy_locals[index].raw);
  }
  if (!PyErr_Occurred())
    PyErr_Format(PyExc_UnboundLocalError, "cannot access local variable '%U' where it is not associated with a value",
                 local_name(frame, index));
  return nullptr;
}

bool touch_operands(Tracer& tracer, Frame& frame, const Instruction& now) {
  auto& waiting = frame.lazy_stack;
  while (!waiting.empty() && waiting.back().slot >= frame.stack_top) waiting.pop_back();
  if (now.op == Op::STORE_FAST || now.op == Op::POP_TOP) return true;
  const size_t first = frame.stack_top - stack_inputs(now);
  for (size_t i = waiting.size(); i-- > 0 && waiting[i].slot >= first;) {
    const Frame::LazySlot entry = waiting[i];
    Ref entered = enter(tracer, entry.source);
    if (!entered) return false;
    if (entry.local >= 0 && frame.lazy_locals[entry.local].source == entry.source) {
      frame.forget_lazy_local(entry.local);
      frame.local(entry.local) = entered;
    }
    frame.slots[entry.slot] = std::move(entered);
    waiting.erase(waiting.begin() + static_cast<ptrdiff_t>(i));
  }
  return true;
}

const Ref& cell_in(Tracer& tracer, Frame& frame, int32_t index) {
  Ref& slot = frame.local(index);
  if (!slot) slot = touch_local(tracer, frame, index);
  return slot;
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
  if (tracer.world.source_of(cell)) {
    tracer.effects.write(cell, "cell_contents"_name, value);
    return true;
  }
  return PyCell_Set(cell, value) == 0;
}

void copy_free_variables(Tracer& tracer, Frame& frame, int32_t count) {
  PyObject* function = frame.function.get();
  PyObject* closure = PyFunction_GET_CLOSURE(function);
  Source* source = frame.is_root ? tracer.guards.function(function) : tracer.world.source_of(function);
  Source* tuple = nullptr;
  if (source) {
    tuple = tracer.guards.child(source, Access::Attribute, "__closure__"_name, -1, closure);
  }
  for (int32_t i = 0; i < count; ++i) {
    PyObject* cell = PyTuple_GET_ITEM(closure, i);
    if (tuple && !tracer.world.source_of(cell))
      tracer.world.know(cell, tracer.guards.child(tuple, Access::Index, nullptr, i, cell));
    frame.local(frame.prepared->locals_count - count + i) = Ref::borrow(cell);
  }
}

}  // namespace minidynamo
