#include "model/proxies/size_operation.h"

#include "bytecode/op_facts.h"
#include "model/protocols/abstract.h"
#include "python/native_scope.h"
#include "python/process/nesting.h"
#include "python/process/out_of_memory.h"
#include "python/version/type_version.h"
#include "tensor/fake/fake.h"
#include "world/external/enter.h"
#include "world/proxies/symbolic_float.h"
#include "world/state/held_values.h"

namespace minidynamo {
namespace {

// A number of the program's own of which the trace does not have the value, or only as that of this call. Those of
// optimizers are dealt with where they are used.
bool is_open_number(PyObject* object) noexcept {
  return is_symbolic_number(object) || (is_symbolic_float(object) && facts_of_number(object).is_any);
}

bool specialize(Tracer& tracer, Ref& object) {
  object = specialized(tracer, object.get());
  return static_cast<bool>(object);
}

bool is_text(PyObject* object) noexcept {
  return PyUnicode_Check(object) || PyBytes_Check(object) || PyByteArray_Check(object);
}

// In the order of CPython's NB_* numbers; those in place come after.
enum Operator : int {
  kAdd = 0,
  kFloorDivide = 2,
  kMultiply = 5,
  kRemainder = 6,
  kPower = 8,
  kSubtract = 10,
  kTrueDivide = 11,
  kOperators = 13
};

// nullopt: no polynomial, or Python raises.
std::optional<Expression> apply(Tracer& tracer, int number, Expression left, Expression right) {
  switch (number % kOperators) {
    case kAdd:
      return left + right;
    case kSubtract:
      return left - right;
    case kMultiply:
      return left * right;
    case kFloorDivide:
    case kRemainder:
      if (tracer.symbols.trace().ask(is_equal(right, constant(0)))) return std::nullopt;
      return number % kOperators == kFloorDivide ? floor_divide(left, right) : modulo(left, right);
    case kPower: {
      const std::optional<int64_t> exponent = constant_value(right);
      if (!exponent || *exponent < 0 || *exponent > 4) return std::nullopt;
      Expression power = constant(1);
      for (int64_t i = 0; i < *exponent; ++i) power = power * left;
      return power;
    }
    default:
      return std::nullopt;
  }
}

// True if an operator between ints makes a float: a quotient, and a power with a negative exponent.
bool computes_in_floats(int number, Expression right) {
  if (number % kOperators == kTrueDivide) return true;
  const std::optional<int64_t> exponent = constant_value(right);
  return number % kOperators == kPower && exponent && *exponent < 0;
}

// The same in floats.
std::optional<FloatExpression> apply(Tracer& tracer, int number, FloatExpression left, FloatExpression right) {
  switch (number % kOperators) {
    case kAdd:
      return left + right;
    case kSubtract:
      return left - right;
    case kMultiply:
      return left * right;
    case kTrueDivide:
      return tracer.symbols.trace().divide(left, right);
    case kPower:
      return tracer.symbols.trace().raise(left, right);
    default:
      return std::nullopt;
  }
}

// False: it does not fit into 64 bits.
template <typename Work>
bool fits(const Work& work) {
  try {
    work();
    return true;
  } catch (const SizeOverflow&) {
    return false;
  }
}

// The numbers are both ints or both floats.
template <typename Number>
SizeCondition condition_for(int comparison, Number left, Number right) {
  switch (comparison) {
    case Py_EQ:
      return is_equal(left, right);
    case Py_NE:
      return is_equal(left, right).negated();
    case Py_LT:
      return is_less(left, right);
    case Py_LE:
      return is_less_equal(left, right);
    case Py_GT:
      return is_less(right, left);
    default:
      return is_less_equal(right, left);
  }
}

// The user may have said that nothing is decided by it.
void look_at_marks(Tracer& tracer, SizeCondition condition) {
  if (!tracer.symbols.is_marked_unbacked(condition.expression) || tracer.symbols.trace().known(condition)) return;
  tracer.abort(BreakReason::DataDependentBranch, "the program asks whether " + tracer.symbols.trace().text(condition) +
                                                     ", of a size that is marked unbacked");
  throw TraceAborted();
}

// The answer about unknown numbers may be unknown too: a torch.SymBool, which the program may want to have checked.
Ref answer_to(Tracer& tracer, SizeCondition condition) {
  TraceSizes& trace = tracer.symbols.trace();
  if (trace.is_unknown(condition.expression) && !trace.known(condition)) {
    const NativeScope native;
    return symbolic_bool(tracer.symbols.sizes(), condition);
  }
  look_at_marks(tracer, condition);
  return Ref::boolean(trace.ask(condition));
}

// True if two sequences of one kind are equal, item by item. -1 with a Python error set.
int sequences_equal(Tracer& tracer, PyObject* left, PyObject* right) {
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(left);
  if (count != PySequence_Fast_GET_SIZE(right)) return 0;
  for (Py_ssize_t i = 0; i < count; ++i) {
    const Ref a = Ref::borrow(PySequence_Fast_GET_ITEM(left, i)), b = Ref::borrow(PySequence_Fast_GET_ITEM(right, i));
    if (a.is(b.get())) continue;
    const Ref equal = compare(tracer, Py_EQ, a.get(), b.get());
    const int is_equal = equal ? truth(tracer, equal.get()) : -1;
    if (is_equal <= 0) return is_equal;
  }
  return 1;
}

}  // namespace

std::optional<Expression> size_expression(const Tracer& tracer, PyObject* object) {
  if (is_size(tracer, object)) return expression_of(object);
  if (!PyLong_CheckExact(object) && !PyBool_Check(object)) return std::nullopt;
  int overflow = 0;
  const int64_t value = PyLong_AsLongLongAndOverflow(object, &overflow);
  return overflow ? std::nullopt : std::optional(constant(value));
}

std::optional<FloatExpression> float_expression(const Tracer& tracer, PyObject* object) {
  if (!tracer.symbols.active()) return std::nullopt;
  std::optional<FloatExpression> result;
  if (is_size_float(tracer, object))
    result = float_expression_of(object);
  else if (PyFloat_CheckExact(object))
    result = float_constant(PyFloat_AS_DOUBLE(object));
  else if (const std::optional<Expression> e = size_expression(tracer, object))
    result = float_of(*e);
  return result && !tracer.symbols.trace().is_unknown(result->bits) ? result : std::nullopt;
}

bool stands_for_number(const Tracer& tracer, PyObject* object) noexcept {
  return tracer.symbols.may_have_symbols() && is_open_number(object);
}

bool holds_size(const Tracer& tracer, PyObject* object) {
  return tracer.symbols.may_have_symbols() && any_held(object, is_open_number);
}

bool may_hold_size(Tracer& tracer, PyObject* object) {
  return tracer.symbols.may_have_symbols() && any_held(object, [&](PyObject* held) {
           const ShadowContainer* unread = is_open_number(held) ? nullptr : tracer.world.shadow(held);
           return is_open_number(held) || (unread && !unread->filled);
         });
}

Ref specialized(Tracer& tracer, PyObject* object) {
  if (!tracer.symbols.may_have_symbols()) return Ref::borrow(object);
  if (is_symbolic_int_or_float(object)) return tracer.symbols.specialized(object);
  if (is_symbolic_bool(object)) return Ref::boolean(tracer.symbols.trace().ask(condition_of(object)));
  if (is_symbolic_float(object)) {
    const NumberFacts& facts = facts_of_number(object);
    return facts.is_any && facts.value ? value_of_number(tracer, object) : Ref::borrow(object);
  }
  if (!any_held(object, is_open_number)) return Ref::borrow(object);
  NestingLevel level;
  if (level.is_too_deep()) {
    PyErr_SetString(PyExc_RecursionError, "a container of sizes is nested too deep");
    return nullptr;
  }
  if (PySlice_Check(object)) {
    auto* slice = as_slice(object);
    const Ref start = specialized(tracer, slice->start), stop = specialized(tracer, slice->stop),
              step = specialized(tracer, slice->step);
    return start && stop && step ? Ref::made(PySlice_New(start.get(), stop.get(), step.get())) : Ref();
  }
  if (PyDict_Check(object)) {
    Py_ssize_t position = 0;
    PyObject *key, *value;
    while (PyDict_Next(object, &position, &key, &value)) {
      const Ref number = specialized(tracer, value);
      if (!number || (!number.is(value) && PyDict_SetItem(object, key, number.get()) < 0)) return nullptr;
    }
    return Ref::borrow(object);
  }
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i) {
    PyObject** item = PySequence_Fast_ITEMS(object) + i;
    Ref number = specialized(tracer, *item);
    if (!number) return nullptr;
    const Ref before = Ref::steal(std::exchange(*item, number.release()));
  }
  return Ref::borrow(object);
}

std::optional<Ref> number_asked_by_native_code(Tracer& tracer, PyObject* function, FastLocals slots) {
  const int32_t count = as_code(PyFunction_GET_CODE(function))->co_argcount;
  if (!count || !slots[0] || !is_open_number(slots[0])) return std::nullopt;
  PyObject* name = as_function(function)->func_name;
  if (class_attribute(Py_TYPE(slots[0]), name) != function) return std::nullopt;
  std::vector<Ref> numbers;
  std::vector<PyObject*> operands;
  for (int32_t i = 0; i < count; ++i) {
    numbers.push_back(specialized(tracer, slots[i]));
    if (!numbers.back()) return Ref();
    operands.push_back(numbers.back().get());
  }
  if (is_open_number(operands[0])) return std::nullopt;
  return Ref::steal(PyObject_VectorcallMethod(name, operands.data(), operands.size(), nullptr));
}

bool specialize_operands(Tracer& tracer, Frame& frame, const Instruction& now) {
  const bool holds = holds_sizes(now.op);
  tracer.symbols.specializes_reads = !takes_sizes(now.op) && !holds;
  if (takes_sizes(now.op)) return true;
  const int inputs = stack_inputs(now);
  for (int i = 1; i <= inputs; ++i) {
    Ref& slot = frame.top(i);
    if (!slot || (holds && !is_open_number(slot.get()))) continue;
    if (now.op == Op::CONTAINS_OP && i == 1 && PyDict_Check(slot.get())) continue;  // its keys are looked at alone
    if (!specialize(tracer, slot)) return false;
  }
  return true;
}

int size_truth(Tracer& tracer, PyObject* size) {
  const SizeCondition condition = is_equal(expression_of(size), constant(0));
  look_at_marks(tracer, condition);
  return !tracer.symbols.trace().ask(condition);
}

int float_truth(Tracer& tracer, PyObject* float_of_sizes) {
  const SizeCondition condition = is_equal(float_expression_of(float_of_sizes), float_constant(0));
  look_at_marks(tracer, condition);
  return !tracer.symbols.trace().ask(condition);
}

std::optional<Ref> size_float(Tracer& tracer, std::optional<FloatExpression> e) {
  if (!e || !tracer.symbols.fits(e->bits)) return std::nullopt;
  return tracer.symbols.object(e->bits);
}

std::optional<Ref> size_rounded(Tracer& tracer, Rounding how, PyObject* object) {
  if (is_size(tracer, object)) return Ref::borrow(object);
  if (!is_size_float(tracer, object)) return std::nullopt;
  const std::optional<Expression> integer = tracer.symbols.trace().round(how, float_expression_of(object));
  if (!integer || !tracer.symbols.fits(*integer)) return std::nullopt;
  return tracer.symbols.object(*integer);
}

Ref opposite_truth(Tracer& tracer, PyObject* truth) {
  const NativeScope native;
  return symbolic_bool(tracer.symbols.sizes(), condition_of(truth).negated());
}

std::optional<Ref> size_unary(Tracer& tracer, Op op, Ref& operand) {
  if (is_size_float(tracer, operand.get())) {
    const FloatExpression e = float_expression_of(operand.get());
    if (op != Op::UNARY_INVERT) return size_float(tracer, op == Op::UNARY_NEGATIVE ? -e : e);
    if (!specialize(tracer, operand)) return Ref();
    return std::nullopt;
  }
  if (!is_size(tracer, operand.get())) return std::nullopt;
  const Expression e = expression_of(operand.get());
  Expression result = e;
  const bool is_small = fits([&] {
    if (op == Op::UNARY_NEGATIVE) result = -e;
    if (op == Op::UNARY_INVERT) result = -e - constant(1);
  });
  if (is_small && tracer.symbols.fits(result)) return tracer.symbols.object(result);
  if (!specialize(tracer, operand)) return Ref();
  return std::nullopt;
}

std::optional<Ref> size_binary(Tracer& tracer, int number, Ref& left, Ref& right) {
  if (number % kOperators == kRemainder && is_text(left.get())) {  // formats what the right side holds
    if (!materialize_if_shadow(tracer, right.get()) || !specialize(tracer, right)) return Ref();
    return std::nullopt;
  }
  if (!is_size_or_float(tracer, left.get()) && !is_size_or_float(tracer, right.get())) return std::nullopt;
  if (is_fake(left.get()) || is_fake(right.get())) return std::nullopt;
  if (is_symbolic_float(left.get()) || is_symbolic_float(right.get())) return std::nullopt;
  const std::optional<Expression> a = size_expression(tracer, left.get()), b = size_expression(tracer, right.get());
  std::optional<Expression> result;
  if (a && b && fits([&] { result = apply(tracer, number, *a, *b); }) && result && tracer.symbols.fits(*result))
    return tracer.symbols.object(*result);
  if (!a || !b || computes_in_floats(number, *b)) {
    const std::optional<FloatExpression> x = float_expression(tracer, left.get()),
                                         y = float_expression(tracer, right.get());
    std::optional<Ref> value;
    const auto compute = [&] {
      const bool is_quotient = a && b && number % kOperators == kTrueDivide;
      value = size_float(tracer, is_quotient ? tracer.symbols.trace().divide(*a, *b) : apply(tracer, number, *x, *y));
    };
    if (x && y && fits(compute) && value) return value;
  }
  if (!specialize(tracer, left) || !specialize(tracer, right)) return Ref();
  return std::nullopt;
}

std::optional<Ref> size_compare(Tracer& tracer, int comparison, Ref& left, Ref& right) {
  if (!tracer.symbols.may_have_symbols() || is_fake(left.get()) || is_fake(right.get())) return std::nullopt;
  if (is_symbolic_float(left.get()) || is_symbolic_float(right.get())) return std::nullopt;
  const std::optional<Expression> a = size_expression(tracer, left.get()), b = size_expression(tracer, right.get());
  if (a && b && (is_symbolic_int(left.get()) || is_symbolic_int(right.get()))) {
    Ref answer;
    const bool is_small = fits([&] { answer = answer_to(tracer, condition_for(comparison, *a, *b)); });
    if (is_small) return answer;
  }
  if (!a || !b) {
    const std::optional<FloatExpression> x = float_expression(tracer, left.get()),
                                         y = float_expression(tracer, right.get());
    if (x && y && (!constant_value(*x) || !constant_value(*y))) {
      Ref answer;
      if (fits([&] { answer = answer_to(tracer, condition_for(comparison, *x, *y)); })) return answer;
    }
  }
  if (!may_hold_size(tracer, left.get()) && !may_hold_size(tracer, right.get())) return std::nullopt;
  const bool is_equality = comparison == Py_EQ || comparison == Py_NE;
  const bool are_alike = (PyTuple_Check(left.get()) && PyTuple_Check(right.get())) ||
                         (PyList_CheckExact(left.get()) && PyList_CheckExact(right.get()));
  if (is_equality && are_alike && materialize_if_shadow(tracer, left.get()) &&
      materialize_if_shadow(tracer, right.get())) {
    const int equal = sequences_equal(tracer, left.get(), right.get());
    return equal < 0 ? Ref() : Ref::boolean((equal == 1) == (comparison == Py_EQ));
  }
  // Native code compares all that they hold.
  if (!materialize_if_shadow(tracer, left.get()) || !materialize_if_shadow(tracer, right.get())) return Ref();
  if (!specialize(tracer, left) || !specialize(tracer, right)) return Ref();
  return std::nullopt;
}

}  // namespace minidynamo
