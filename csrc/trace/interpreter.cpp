// The instruction loop. What an instruction means for objects is in operations, attributes and calls; what it does to
// its frame is in variables, containers, exceptions and call_instructions; here is only the stack and control flow. One
// case per neutral opcode, in the order of CPython's documentation of `dis`.
#include "model/objects/generator.h"
#include "model/objects/let_go.h"
#include "model/objects/object_end.h"
#include "model/protocols/abstract.h"
#include "model/protocols/upward.h"
#include "model/proxies/size_operation.h"
#include "python/handled_exception.h"
#include "python/process/native_stack.h"
#include "python/scoped_value.h"
#include "python/unstable.h"
#include "trace/call_instructions.h"
#include "trace/checks.h"
#include "trace/class_body.h"
#include "trace/container_instructions.h"
#include "trace/except_star.h"
#include "trace/exceptions.h"
#include "trace/imports.h"
#include "trace/match.h"
#include "trace/variables.h"
#include "world/external/enter.h"
#include "world/external/external_iterator.h"
#include "world/external/pin.h"
#include "world/external/scope.h"
#include "world/native/native_code.h"
#include "world/state/identity.h"

namespace minidynamo {

namespace {

Outcome run_instructions(Tracer& tracer, Frame& frame, Ref& value);

}

Outcome run(Tracer& tracer, Frame& frame, Ref& value) {
  try {
    return run_instructions(tracer, frame, value);
  } catch (const TraceAborted&) {
    return Outcome::Failed;
  }
}

namespace {

Outcome run_instructions(Tracer& tracer, Frame& frame, Ref& value) {
  const ScopedValue<bool> of_each_instruction{tracer.symbols.specializes_reads, false};
  const Bytecode& bytecode = frame.prepared->bytecode;
  const Instruction* const code = bytecode.instructions.data();
  const ScopedValue<Frame*> innermost{tracer.frame, &frame};

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
      if (now.target <= frame.instruction && tracer.executed >= tracer.next_look && !tracer.keeps_going()) return false;
      frame.instruction = now.target;
      return true;
    };

    if (tracer.executed == tracer.breaks.point.executed) [[unlikely]] {
      tracer.end_at_break(frame);
      return Outcome::Failed;
    }
    if (tracer.executed == tracer.breaks.forced_at && !tracer.breaks.delay_forced(frame)) [[unlikely]] {
      if (tracer.ends.ask_for_break)
        tracer.abort(BreakReason::Finalizer, "an object is deleted whose end can be seen");
      else
        tracer.abort(BreakReason::Forced, "a break was asked for here");
      return Outcome::Failed;
    }
    if (!frame.lazy_stack.empty() && !touch_operands(tracer, frame, now)) [[unlikely]] {
      if (tracer.is_over() || !handle_error(tracer, frame)) return Outcome::Failed;
      continue;
    }

    if (tracer.symbols.may_have_symbols() && !specialize_operands(tracer, frame, now)) [[unlikely]] {
      if (tracer.is_over() || !handle_error(tracer, frame)) return Outcome::Failed;
      continue;
    }

    switch (now.op) {
      case Op::NOP:
      case Op::RESUME:
        break;
      case Op::POP_TOP:
        note_dropped(tracer, frame, frame.stack_depth() - 1);
        frame.drop();
        break;
      case Op::PUSH_NULL:
        frame.push(nullptr);
        break;
      case Op::PUSH_NULL_BELOW:
        frame.push(nullptr);
        frame.top(1).swap(frame.top(2));
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
      case Op::LOAD_SMALL_INT:
        frame.push(Ref::made(PyLong_FromLong(arg)));
        break;
      case Op::LOAD_COMMON_CONSTANT:
        frame.push(common_constant(arg));
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
        note_overwritten(tracer, frame, arg);
        store_fast(frame, arg);
        break;
      case Op::LOAD_FAST_AND_CLEAR:
        take_fast(tracer, frame, arg);
        break;
      case Op::DELETE_FAST:
        if (!frame.local(arg) && !frame.has_lazy_local(arg)) {
          result(load_fast(tracer, frame, arg));
        } else {
          delete_fast(tracer, frame, arg);
        }
        break;
      case Op::LOAD_GLOBAL:
        if (now.push_null) frame.push(nullptr);
        result(load_global(tracer, frame, name_at(frame, arg)));
        break;
      case Op::STORE_GLOBAL: {
        Ref stored = frame.pop();
        ok = store_global(tracer, frame, name_at(frame, arg), stored.get());
        break;
      }
      case Op::DELETE_GLOBAL:
        ok = load_global(tracer, frame, name_at(frame, arg)) &&
             store_global(tracer, frame, name_at(frame, arg), nullptr);
        break;
      case Op::LOAD_NAME:
        result(load_name(tracer, frame, name_at(frame, arg)));
        break;
      case Op::STORE_NAME: {
        Ref stored = frame.pop();
        ok = store_name(tracer, frame, name_at(frame, arg), stored.get());
        break;
      }
      case Op::DELETE_NAME:
        ok = delete_name(tracer, frame, name_at(frame, arg));
        break;
      case Op::LOAD_CLASSDEREF:
        result(load_deref_behind(tracer, frame, frame.locals_mapping.get(), arg));
        break;
      case Op::LOAD_LOCALS:
        if (frame.locals_mapping)
          frame.push(frame.locals_mapping);
        else
          ok = false, PyErr_SetString(PyExc_SystemError, "no locals");
        break;
      case Op::LOAD_FROM_DICT_OR_GLOBALS: {
        Ref mapping = frame.pop();
        result(load_global_behind(tracer, frame, mapping.get(), name_at(frame, arg)));
        break;
      }
      case Op::LOAD_FROM_DICT_OR_DEREF: {
        Ref mapping = frame.pop();
        result(load_deref_behind(tracer, frame, mapping.get(), arg));
        break;
      }
      case Op::SETUP_ANNOTATIONS:
        ok = setup_annotations(tracer, frame);
        break;
      case Op::LOAD_BUILD_CLASS:
        result(load_build_class(tracer, frame));
        break;

      case Op::MAKE_CELL: {
        Ref initial = frame.local(arg);
        if (!initial) initial = touch_local(tracer, frame, arg);
        if (!initial && PyErr_Occurred()) {
          ok = false;
          break;
        }
        frame.forget_lazy_local(arg);
        frame.local(arg) = Ref::made(PyCell_New(initial.get()));
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
        Ref object = frame.pop();
        ok = push_method(tracer, frame, object.get(), name_at(frame, arg));
        break;
      }
      case Op::LOAD_SUPER_ATTR: {
        Ref object = call_super(tracer, frame, now.has_arguments);
        result(object ? load_attribute(tracer, object.get(), name_at(frame, arg)) : Ref());
        break;
      }
      case Op::LOAD_SUPER_METHOD: {
        Ref object = call_super(tracer, frame, now.has_arguments);
        ok = object && push_method(tracer, frame, object.get(), name_at(frame, arg));
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
        if (is_unknown_truth(tracer, operand.get())) {
          result(opposite_truth(tracer, operand.get()));
          break;
        }
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
      case Op::BUILD_LIST:
        result(build_sequence(tracer, frame, arg, now.op == Op::BUILD_TUPLE));
        break;
      case Op::BUILD_SET:
        result(build_set(tracer, frame, arg));
        break;
      case Op::BUILD_MAP:
        result(build_map(tracer, frame, arg));
        break;
      case Op::BUILD_CONST_KEY_MAP:
        result(build_const_key_map(tracer, frame, arg));
        break;
      case Op::BUILD_STRING:
        result(build_string(tracer, frame, arg));
        break;
      case Op::BUILD_SLICE: {
        Ref step = arg == 3 ? frame.pop() : Ref(), stop = frame.pop(), start = frame.pop();
        result(Ref::made(PySlice_New(start.get(), stop.get(), step.get())));
        break;
      }
      case Op::CONVERT_VALUE: {
        Ref converted = frame.pop();
        result(convert_value(tracer, converted.get(), arg));
        break;
      }
      case Op::FORMAT_VALUE: {
        Ref spec = (arg & 4) ? frame.pop() : Ref(), formatted = frame.pop();
        result(format_value(tracer, formatted.get(), spec.get(), arg & 3));
        break;
      }
      case Op::LIST_APPEND: {
        Ref item = frame.pop();
        ok = fill_target(tracer, frame, arg) && materialize_if_shadow(tracer, item.get()) &&
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
        if (ok && !PySet_Check(frame.top(arg).get())) {
          tracer.abort(BreakReason::UnsupportedObject, "__conditional_annotations__ is no set");
          ok = false;
        }
        if (ok) guard_as_key(tracer, frame.top(arg).get(), item.get());
        ok = ok && PySet_Add(frame.top(arg).get(), item.get()) == 0 && !tracer.is_over();
        break;
      }
      case Op::SET_UPDATE: {
        Ref iterable = frame.pop();
        ok = fill_target(tracer, frame, arg) && prepare_for_native(tracer, iterable.get(), SetOrder::Ignored);
        if (ok) require_distinct(tracer, iterable.get());
        ok = ok && update_set(frame.top(arg).get(), iterable.get()) == 0 && !tracer.is_over();
        break;
      }
      case Op::MAP_ADD: {
        Ref item = frame.pop(), key = frame.pop();
        key = specialized(tracer, key.get());
        ok = static_cast<bool>(key);
        if (ok) guard_as_key(tracer, frame.top(arg).get(), key.get());
        ok = ok && fill_target(tracer, frame, arg) && materialize_if_shadow(tracer, item.get()) &&
             PyDict_SetItem(frame.top(arg).get(), key.get(), item.get()) == 0 && !tracer.is_over();
        break;
      }
      case Op::DICT_UPDATE: {
        Ref update = frame.pop();
        ok = fill_target(tracer, frame, arg) && update_dict(tracer, frame.top(arg).get(), update.get());
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
        Source* lazy_locals = nullptr;
        bool call_next = true;
        const bool is_outside = is_outside_iterator(frame.top().get());
        const Instruction& next = (&now)[1];
        std::vector<ItemPart> parts;
        if (is_outside && next.op == Op::UNPACK_SEQUENCE &&
            take_next_parts(tracer, frame.top().get(), next.arg, parts)) {
          call_next = false;
        } else if (is_outside) {
          lazy_locals = take_next_source(tracer, frame.top().get(), call_next);
        }
        if (!parts.empty()) {
          for (; !parts.empty(); parts.pop_back()) {
            ItemPart& part = parts.back();
            if (part.source) frame.lazy_stack.push_back({frame.stack_top, -1, part.source});
            frame.push(part.source ? part.source->value : std::move(part.object));
          }
          ++frame.instruction;  // UNPACK_SEQUENCE is done
          break;
        }
        if (lazy_locals) {
          frame.lazy_stack.push_back({frame.stack_top, -1, lazy_locals});
          frame.push(lazy_locals->value);
          break;
        }
        Ref item = call_next && !tracer.is_over() ? next_item(tracer, frame.top().get()) : Ref();
        if (item) {
          frame.push(std::move(item));
        } else if (PyErr_Occurred()) {
          ok = false;
        } else {
          frame.drop();
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
        const int is_true = truth_at_jump(tracer, frame, condition.get());
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
          frame.drop();
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
        if (!frame.is_root && frame.is_of_resume_function()) note_inlined_return(tracer, frame);
        value = frame.pop();
        if (frame.is_root && frame.is_of_resume_function()) note_return(tracer, frame);
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
      case Op::CLEANUP_THROW:
        ok = end_wait(tracer, frame);
        break;
      case Op::ASYNC_GEN_WRAP:
      case Op::GET_AWAITABLE:
      case Op::GET_AITER:
      case Op::GET_ANEXT:
      case Op::END_ASYNC_FOR:
      case Op::BEFORE_ASYNC_WITH:
        tracer.abort(BreakReason::Coroutine, "asynchronous code is not traced");
        ok = false;
        break;

      case Op::LOAD_SPECIAL:
        ok = push_special(tracer, frame, static_cast<SpecialMethod>(arg));
        break;
      case Op::BEFORE_WITH:
        ok = before_with(tracer, frame);
        break;
      case Op::WITH_EXCEPT_START:
        ok = call_exit(tracer, frame);
        break;
      case Op::PUSH_EXC_INFO: {
        Ref exception = frame.pop();
        Ref handled = innermost_handled();
        set_innermost_handled(exception.get());
        frame.push(std::move(handled));
        frame.push(std::move(exception));
        break;
      }
      case Op::POP_EXCEPT: {
        note_handled_ends(tracer, frame);
        Ref handled = frame.pop();
        set_innermost_handled(handled.get());
        break;
      }
      case Op::CHECK_EXC_MATCH:
        ok = check_match(tracer, frame);
        break;
      case Op::CHECK_EG_MATCH:
        ok = check_group_match(tracer, frame);
        break;
      case Op::PREP_RERAISE_STAR:
        ok = prepare_reraise_star(tracer, frame);
        break;
      case Op::RERAISE:
        raise_again(tracer, frame.pop());
        ok = false;
        break;
      case Op::RAISE_VARARGS: {
        Ref cause = arg == 2 ? frame.pop() : Ref(), exception = arg >= 1 ? frame.pop() : Ref();
        raise_exception(tracer, std::move(exception), std::move(cause));
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
      case Op::BUILD_INTERPOLATION:
      case Op::BUILD_TEMPLATE:
        tracer.abort(BreakReason::UnsupportedObject, "a template string");
        ok = false;
        break;
      case Op::CALL_INTRINSIC_1: {
        Ref operand = frame.pop();
        result(call_intrinsic(tracer, arg, std::move(operand)));
        break;
      }
      case Op::CALL_INTRINSIC_2:
        tracer.abort(BreakReason::TypeParameters, "type parameters are bound");
        ok = false;
        break;
      case Op::IMPORT_STAR:
      case Op::PRINT_EXPR:
        tracer.abort(BreakReason::ModuleCode, "an instruction of module code");
        ok = false;
        break;
    }

    if (ok && may_have_let_go(tracer)) [[unlikely]]
      look_at_let_go(tracer, frame);
    if (!ok || tracer.is_over()) [[unlikely]] {
      if (!PyErr_Occurred() && !tracer.is_over())
        tracer.abort(BreakReason::Internal, std::string(op_name(now.op)) + " failed without an error");
      if (tracer.is_over() || !handle_error(tracer, frame)) return Outcome::Failed;
      continue;
    }
    ++frame.instruction;
  }
}
}  // namespace

Outcome run_throwing(Tracer& tracer, Frame& frame, Ref& value) {
  // The error is raised by the instruction that the generator is suspended at.
  frame.started_at = tracer.executed;
  if (!handle_error(tracer, frame)) return Outcome::Failed;
  return run(tracer, frame, value);
}

Ref evaluate(Tracer& tracer, std::unique_ptr<Frame> frame) {
  if (tracer.depth >= tracer.limits.depth)
    return tracer.abort(BreakReason::DepthLimit, "calls are nested deeper than config allows");
  if (tracer.executed >= tracer.next_look && !tracer.keeps_going()) return nullptr;
  if (native_stack_left() < kStackForInlining)
    return tracer.abort(BreakReason::DepthLimit, "calls are nested deeper than the thread's stack allows");
  if (frame->code()->co_flags & (CO_COROUTINE | CO_ASYNC_GENERATOR | CO_ITERABLE_COROUTINE))
    return tracer.abort(BreakReason::Coroutine, "asynchronous code is not traced");
  ++tracer.depth;
  Ref value;
  const Outcome outcome = run(tracer, *frame, value);
  --tracer.depth;
  if (outcome == Outcome::Yielded) return make_generator(tracer, std::move(frame));
  if (outcome == Outcome::Failed && !tracer.is_over() && !frame->is_root) note_exception_leaves(tracer, *frame);
  frame.reset();
  if (!tracer.made.generators.empty()) drop_unused_functions(tracer);
  return outcome == Outcome::Failed ? Ref() : value;
}

}  // namespace minidynamo
