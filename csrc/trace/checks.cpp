// A condition that decides only whether the program raises becomes a node that raises, and the trace goes on as if it
// had not. Where it does raise, nothing has happened yet, effects come after the graph: the frame runs uncaptured, and
// raises the program's own exception, at its own line, after all that came before it.
//
// That takes a graph that writes to nothing, which only the end of the trace can tell. If it writes, an `assert` whose
// error no code handles stays a node: the error is an AssertionError then, but what the frame did before it is lost
// (docs/effects.md). Anything else would show another exception, or miss a handler: it becomes a graph break.
#include "trace/checks.h"

#include <string_view>

#include "bytecode/op_facts.h"
#include "model/native/special_method.h"
#include "model/protocols/abstract.h"
#include "model/protocols/arguments.h"
#include "model/protocols/upward.h"
#include "model/tensors/overridden_call.h"
#include "model/tensors/tensor_call.h"
#include "python/cached.h"
#include "python/error_text.h"
#include "python/native_method.h"
#include "python/objects/native_contents.h"
#include "python/process/out_of_memory.h"
#include "tensor/values/known_values.h"
#include "world/external/known_types.h"
#include "world/native/handler.h"

namespace minidynamo {
namespace {

constexpr int kLongestWay = 100;  // instructions to the `raise`

// Straight code that ends in a `raise`.
struct WayToRaise {
  int32_t raise = -1;  // the instruction; -1: the code does not surely raise
  bool is_assert = false;
  PyObject* message = nullptr;  // an assert's message, where it is a constant text (borrowed)
};

WayToRaise way_to_raise(const Bytecode& bytecode, int32_t from) {
  WayToRaise way;
  bool is_first = true;
  for (int32_t at = from, steps = 0; steps < kLongestWay; ++steps) {
    const Instruction& now = bytecode.instructions[at];
    if (now.op == Op::RAISE_VARARGS) {
      if (now.arg >= 1) way.raise = at;
      return way;
    }
    if (now.op == Op::JUMP && now.target > at) {
      at = now.target;
      continue;
    }
    if (is_jump(now.op) || ends_flow(now.op) || now.op == Op::BEFORE_WITH || now.op == Op::LOAD_SPECIAL ||
        now.op == Op::YIELD_VALUE)
      return way;
    if (is_first && now.op == Op::LOAD_ASSERTION_ERROR) way.is_assert = true;
    const bool is_message = now.op == Op::LOAD_CONST && at > 0 && bytecode.instructions[at + 1].op == Op::CALL &&
                            bytecode.instructions[at - 1].op == Op::LOAD_ASSERTION_ERROR;
    if (way.is_assert && is_message) {
      PyObject* constant = PyTuple_GET_ITEM(bytecode.consts.get(), now.arg);
      if (PyUnicode_CheckExact(constant)) way.message = constant;
    }
    is_first = is_first && (now.op == Op::POP_TOP || now.op == Op::NOP);  // a chained comparison leaves them
    ++at;
  }
  return way;
}

int abort(Tracer& tracer) {
  tracer.abort(BreakReason::DataDependentBranch, "the program branches on the value of a tensor");
  return -1;
}

Ref call_method(Tracer& tracer, const char* name, PyObject* tensor) {
  const Ref operand = Ref::borrow(tensor);
  Ref method = Ref::made(PyUnicode_InternFromString(name));
  return record_call(tracer, NodeKind::CallMethod, method.get(), Arguments{std::span<const Ref>(&operand, 1)});
}

// Records that the graph is to raise unless the tensor is what is expected.
bool record_check(Tracer& tracer, PyObject* tensor, bool expected, PyObject* message) {
  Ref condition = Ref::borrow(tensor);
  if (!expected) condition = call_method(tracer, "logical_not", condition.get());
  // Elsewhere the failure would come late, and take the device with it; an `if` waits for the value too.
  Ref is_on_cpu = condition ? Ref::steal(PyObject_GetAttr(condition.get(), "is_cpu"_name)) : Ref();
  if (is_on_cpu.is(Py_False)) condition = call_method(tracer, "cpu", condition.get());
  if (!condition) return false;
  Ref arguments = Ref::made(PyTuple_Pack(2, condition.get(), message ? message : "assertion failed"_name));
  if (tracer.graph.add_call(NodeKind::CallFunction, Ref::borrow("torch._assert_async"_imported), arguments.get(),
                            nullptr, Py_None, true, tracer.frame->call_site()) == kNoNode)
    return tracer.abort(BreakReason::GraphArgument, take_error_text()) != nullptr;
  tracer.graph.mark_last_as_check();
  return true;
}

// True if `if tensor` has a meaning: one element, with a value.
bool is_condition(PyObject* tensor) {
  Ref elements = call_native_method(tensor, "numel");
  Ref is_meta = native_attribute(tensor, "is_meta"_name);
  clear_error();
  return elements && PyLong_AsLong(elements.get()) == 1 && is_meta.is(Py_False);
}

}  // namespace

bool is_checked_next(const Frame& frame) {
  const Bytecode& bytecode = frame.prepared->bytecode;
  if (frame.current().op != Op::CALL) return false;
  const int32_t at = frame.instruction + 1;
  const Instruction& next = bytecode.instructions[at];
  if (next.op != Op::POP_JUMP_IF_TRUE && next.op != Op::POP_JUMP_IF_FALSE) return false;
  return (way_to_raise(bytecode, next.target).raise < 0) != (way_to_raise(bytecode, at + 1).raise < 0);
}

int truth_at_jump(Tracer& tracer, Frame& frame, PyObject* condition) {
  if (!is_fake(condition) || has_known_value(condition) || may_be_overridden(tracer, condition) ||
      own_tensor_method(tracer, condition, "__bool__"))
    return truth(tracer, condition);
  const Bytecode& bytecode = frame.prepared->bytecode;
  const Instruction& now = frame.current();
  const WayToRaise at_target = way_to_raise(bytecode, now.target), next = way_to_raise(bytecode, frame.instruction + 1);
  if ((at_target.raise < 0) == (next.raise < 0) || !is_condition(condition)) return abort(tracer);
  const bool jumps = next.raise >= 0;
  const WayToRaise& way = jumps ? next : at_target;
  if (!way.is_assert || handler_around(frame, way.raise) >= Handler::NativeCode) {
    if (!tracer.may_assume()) return abort(tracer);
    tracer.assume(Assumption::Kind::PureGraph);
  }
  const bool expected = jumps == (now.op == Op::POP_JUMP_IF_TRUE);
  return record_check(tracer, condition, expected, way.message) ? expected : -1;
}

}  // namespace minidynamo
