#include "model/size_operation.h"

#include <algorithm>
#include <string_view>

#include "bytecode/op_facts.h"
#include "model/abstract.h"
#include "model/held_values.h"
#include "model/native_call.h"
#include "model/operator.h"
#include "model/rule.h"
#include "model/upward.h"
#include "python/named_item.h"
#include "python/nesting.h"
#include "python/out_of_memory.h"
#include "python/unstable.h"
#include "tensor/fake.h"
#include "world/enter.h"
#include "world/known_types.h"

namespace minidynamo {
namespace {

// An int, a bool or a symbolic int as an expression.
std::optional<Expression> as_expression(const Tracer& tracer, PyObject* object) {
  if (is_size(tracer, object)) return expression_of(object);
  if (!PyLong_CheckExact(object) && !PyBool_Check(object)) return std::nullopt;
  int overflow = 0;
  const int64_t value = PyLong_AsLongLongAndOverflow(object, &overflow);
  return overflow ? std::nullopt : std::optional(constant(value));
}

bool settle(Tracer& tracer, Ref& object) {
  object = settled(tracer, object.get());
  return static_cast<bool>(object);
}

// In the order of CPython's NB_* numbers; those in place come after.
enum Operator : int {
  kAdd = 0,
  kFloorDivide = 2,
  kMultiply = 5,
  kRemainder = 6,
  kPower = 8,
  kSubtract = 10,
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

bool is_sequence(PyObject* object) noexcept { return PyTuple_Check(object) || PyList_CheckExact(object); }

// Whether two sequences of one kind are equal, item by item. -1 with a Python error set.
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

const char* builtin_name(PyObject* callable, const char* module) noexcept {
  if (!PyCFunction_Check(callable)) return nullptr;
  PyObject* self = PyCFunction_GET_SELF(callable);
  if (!self || !PyModule_Check(self)) return nullptr;
  const char* name = PyModule_GetName(self);
  clear_error();
  return name && std::string_view(name) == module ? reinterpret_cast<PyCFunctionObject*>(callable)->m_ml->ml_name
                                                  : nullptr;
}

bool is_one_of(const char* name, std::initializer_list<std::string_view> names) noexcept {
  return name && std::ranges::find(names, std::string_view(name)) != names.end();
}

// The smallest or largest of ints.
std::optional<Ref> extreme(Tracer& tracer, std::span<const Ref> values, bool is_least) {
  std::optional<Expression> result;
  for (const Ref& value : values) {
    const std::optional<Expression> e = as_expression(tracer, value.get());
    if (!e) return std::nullopt;
    result = !result ? *e : is_least ? minimum(*result, *e) : maximum(*result, *e);
  }
  return result ? std::optional(tracer.symbols.object(*result)) : std::nullopt;
}

std::vector<Ref> items_of_sequence(PyObject* sequence) {
  std::vector<Ref> items;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(sequence); ++i)
    items.push_back(Ref::borrow(PySequence_Fast_GET_ITEM(sequence, i)));
  return items;
}

std::optional<Ref> product(Tracer& tracer, std::span<const Ref> values) {
  Ref result = Ref::made(PyLong_FromLong(1));
  for (const Ref& value : values) {
    if (!as_expression(tracer, value.get())) return std::nullopt;
    result = binary_operation(tracer, kMultiply, result.get(), value.get());
    if (!result) return result;
  }
  return result;
}

// What functions of builtins and math give for symbolic ints; nullopt: nothing is known of them.
std::optional<Ref> call_builtin(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (arguments.keyword_names) return std::nullopt;
  const std::span<const Ref> values = arguments.values;
  const size_t count = values.size();
  if (const char* name = builtin_name(callable, "builtins")) {
    const bool is_min = is_one_of(name, {"min"});
    if (is_min || is_one_of(name, {"max"})) {
      if (count > 1) return extreme(tracer, values, is_min);
      if (count == 1 && is_sequence(values[0].get()))
        return extreme(tracer, items_of_sequence(values[0].get()), is_min);
    }
    if (is_one_of(name, {"abs"}) && count == 1 && is_size(tracer, values[0].get())) {
      const Expression e = expression_of(values[0].get());
      return tracer.symbols.object(tracer.symbols.trace().ask(is_less(e, constant(0))) ? -e : e);
    }
    if (is_one_of(name, {"divmod"}) && count == 2) {
      Ref quotient = binary_operation(tracer, kFloorDivide, values[0].get(), values[1].get());
      Ref remainder = quotient ? binary_operation(tracer, kRemainder, values[0].get(), values[1].get()) : Ref();
      return remainder ? Ref::made(PyTuple_Pack(2, quotient.get(), remainder.get())) : Ref();
    }
    if (is_one_of(name, {"sum"}) && count == 1 && is_sequence(values[0].get())) {
      Ref sum = Ref::made(PyLong_FromLong(0));
      for (const Ref& item : items_of_sequence(values[0].get())) {
        sum = binary_operation(tracer, kAdd, sum.get(), item.get());
        if (!sum) return sum;
      }
      return sum;
    }
  }
  // What a metaclass's own method comes to ask: type.__instancecheck__, bound to the class.
  PyObject* self = bound_self(callable);
  if (self && PyType_Check(self) && count == 1 && is_size(tracer, values[0].get()) &&
      is_one_of(reinterpret_cast<PyCFunctionObject*>(callable)->m_ml->ml_name, {"__instancecheck__"}))
    return Ref::boolean(PyType_IsSubtype(&PyLong_Type, reinterpret_cast<PyTypeObject*>(self)));
  if (is_one_of(builtin_name(callable, "math"), {"prod"}) && count == 1 && is_sequence(values[0].get()))
    return product(tracer, items_of_sequence(values[0].get()));
  if (is_one_of(builtin_name(callable, "_operator"), {"index"}) && count == 1 && is_size(tracer, values[0].get()))
    return values[0];
  if (callable == reinterpret_cast<PyObject*>(&PyLong_Type) && count == 1 && is_size(tracer, values[0].get()))
    return values[0];
  if (callable == reinterpret_cast<PyObject*>(&PyBool_Type) && count == 1 && is_size(tracer, values[0].get()))
    return Ref::boolean(size_truth(tracer, values[0].get()));
  return std::nullopt;
}

// Methods of containers that put their arguments, or what these hold, somewhere without looking at it, and such that
// look at their container alone.
bool only_moves(PyObject* callable) noexcept {
  const char* name = nullptr;
  PyTypeObject* owner = nullptr;
  if (PyCFunction_Check(callable)) {
    PyObject* self = PyCFunction_GET_SELF(callable);
    if (!self || PyModule_Check(self)) return false;
    name = reinterpret_cast<PyCFunctionObject*>(callable)->m_ml->ml_name;
    owner = Py_TYPE(self);
  } else if (Py_IS_TYPE(callable, &PyMethodDescr_Type) || Py_IS_TYPE(callable, &PyWrapperDescr_Type)) {
    name = PyUnicode_AsUTF8(PyDescr_NAME(callable));
    owner = PyDescr_TYPE(callable);
  }
  if (!owner) return false;
  if (PyType_IsSubtype(owner, &PyList_Type))
    return is_one_of(name, {"append", "extend", "copy", "reverse", "clear", "__len__", "__iter__", "__init__"});
  if (PyType_IsSubtype(owner, &PyTuple_Type)) return is_one_of(name, {"__len__", "__iter__"});
  if (PyType_IsSubtype(owner, &PyDict_Type))
    return is_one_of(name, {"items", "values", "keys", "copy", "clear", "__len__", "__iter__", "update", "get",
                            "setdefault", "pop", "popitem"});
  return false;
}

// Whether what is called deals with symbolic ints itself.
bool takes_symbolic_ints(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (Py_IS_TYPE(callable, &PyMethod_Type) || Py_IS_TYPE(callable, &_PyMethodWrapper_Type) ||
      Py_IS_TYPE(callable, known_types()->partial))
    return true;
  if (const Rule* rule = find_rule(callable)) {
    switch (rule->kind) {
      case Rule::Kind::TensorFunction:
      case Rule::Kind::TensorMethod:
      case Rule::Kind::Leaf:
        return !tracer.transforms.active();
      case Rule::Kind::Inline:
        return true;
      case Rule::Kind::Operator:
        return std::ranges::any_of(arguments.values, [](const Ref& value) { return is_fake(value.get()); });
      default:
        break;
    }
    const char* own_name = PyCFunction_Check(callable) ? reinterpret_cast<PyCFunctionObject*>(callable)->m_ml->ml_name
                           : Py_IS_TYPE(callable, &PyMethodDescr_Type) ? PyUnicode_AsUTF8(PyDescr_NAME(callable))
                                                                       : nullptr;
    if (is_one_of(own_name, {"full", "full_like", "new_full"})) return !tracer.transforms.active();
    if (Py_IS_TYPE(callable, &PyWrapperDescr_Type) || Py_IS_TYPE(callable, &_PyMethodWrapper_Type)) {
      const Ref name = Ref::steal(PyObject_GetAttrString(callable, "__name__"));
      const char* text = name && PyUnicode_Check(name.get()) ? PyUnicode_AsUTF8(name.get()) : nullptr;
      clear_error();
      if (is_one_of(text, {"__setattr__"})) return true;  // what is stored is not looked at
    }
    return is_one_of(builtin_name(callable, "builtins"), {"isinstance", "len", "iter", "next", "setattr", "zip"});
  }
  if (PyFunction_Check(callable)) return true;
  if (PyType_Check(callable)) {
    auto* type = reinterpret_cast<PyTypeObject*>(callable);
    return type == &PyTuple_Type || type == &PyList_Type || type == &PyZip_Type || type == &PyEnum_Type ||
           type == &PyReversed_Type || type == &PySlice_Type || type == &PyMap_Type || type == &PyType_Type ||
           (PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) && !PyType_IsSubtype(type, &PyLong_Type));
  }
  if (only_moves(callable)) {
    // Keys are looked at.
    const size_t key = PyCFunction_Check(callable) ? 0 : 1;
    PyObject* self = key ? arguments.values[0].get() : PyCFunction_GET_SELF(callable);
    return !PyDict_Check(self) || arguments.values.size() <= key || !holds_size(tracer, arguments.values[key].get()) ||
           PyDict_Check(arguments.values[key].get());
  }
  return PyType_HasFeature(Py_TYPE(callable), Py_TPFLAGS_HEAPTYPE) && !PyType_Check(callable) &&
         !PyCFunction_Check(callable);
}

}  // namespace

bool holds_size(const Tracer& tracer, PyObject* object) {
  return tracer.symbols.active() && any_held(object, is_symbolic_int);
}

Ref settled(Tracer& tracer, PyObject* object) {
  if (!tracer.symbols.active()) return Ref::borrow(object);
  if (is_symbolic_int(object)) return tracer.symbols.specialized(object);
  if (!any_held(object, is_symbolic_int)) return Ref::borrow(object);
  NestingLevel level;
  if (level.is_too_deep()) {
    PyErr_SetString(PyExc_RecursionError, "a container of sizes is nested too deep");
    return nullptr;
  }
  if (PySlice_Check(object)) {
    auto* slice = reinterpret_cast<PySliceObject*>(object);
    const Ref start = settled(tracer, slice->start), stop = settled(tracer, slice->stop),
              step = settled(tracer, slice->step);
    return start && stop && step ? Ref::made(PySlice_New(start.get(), stop.get(), step.get())) : Ref();
  }
  if (PyDict_Check(object)) {
    Py_ssize_t position = 0;
    PyObject *key, *value;
    while (PyDict_Next(object, &position, &key, &value)) {
      const Ref number = settled(tracer, value);
      if (!number || (!number.is(value) && PyDict_SetItem(object, key, number.get()) < 0)) return nullptr;
    }
    return Ref::borrow(object);
  }
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i) {
    PyObject** item = PySequence_Fast_ITEMS(object) + i;
    Ref number = settled(tracer, *item);
    if (!number) return nullptr;
    const Ref before = Ref::steal(std::exchange(*item, number.release()));
  }
  return Ref::borrow(object);
}

bool settle_operands(Tracer& tracer, Frame& frame, const Instruction& now) {
  if (takes_sizes(now.op)) return true;
  const bool holds = holds_sizes(now.op);
  const int inputs = stack_inputs(now);
  for (int i = 1; i <= inputs; ++i) {
    Ref& slot = frame.top(i);
    if (!slot || (holds && !is_size(tracer, slot.get()))) continue;
    if (!settle(tracer, slot)) return false;
  }
  return true;
}

int size_truth(Tracer& tracer, PyObject* size) {
  return !tracer.symbols.trace().ask(is_equal(expression_of(size), constant(0)));
}

std::optional<Ref> size_unary(Tracer& tracer, Op op, Ref& operand) {
  if (!is_size(tracer, operand.get())) return std::nullopt;
  const Expression e = expression_of(operand.get());
  Expression result = e;
  const bool is_small = fits([&] {
    if (op == Op::UNARY_NEGATIVE) result = -e;
    if (op == Op::UNARY_INVERT) result = -e - constant(1);
  });
  if (is_small && tracer.symbols.fits(result)) return tracer.symbols.object(result);
  if (!settle(tracer, operand)) return Ref();
  return std::nullopt;
}

std::optional<Ref> size_binary(Tracer& tracer, int number, Ref& left, Ref& right) {
  if (!is_size(tracer, left.get()) && !is_size(tracer, right.get())) return std::nullopt;
  if (is_fake(left.get()) || is_fake(right.get())) return std::nullopt;
  const std::optional<Expression> a = as_expression(tracer, left.get()), b = as_expression(tracer, right.get());
  std::optional<Expression> result;
  if (a && b && fits([&] { result = apply(tracer, number, *a, *b); }) && result && tracer.symbols.fits(*result))
    return tracer.symbols.object(*result);
  if (!settle(tracer, left) || !settle(tracer, right)) return Ref();
  return std::nullopt;
}

std::optional<Ref> size_compare(Tracer& tracer, int comparison, Ref& left, Ref& right) {
  if (!tracer.symbols.active() || is_fake(left.get()) || is_fake(right.get())) return std::nullopt;
  const std::optional<Expression> a = as_expression(tracer, left.get()), b = as_expression(tracer, right.get());
  if (a && b && (is_symbolic_int(left.get()) || is_symbolic_int(right.get()))) {
    TraceSizes& trace = tracer.symbols.trace();
    bool holds = false;
    const bool is_small = fits([&] {
      switch (comparison) {
        case Py_EQ:
          holds = trace.ask(is_equal(*a, *b));
          break;
        case Py_NE:
          holds = !trace.ask(is_equal(*a, *b));
          break;
        case Py_LT:
          holds = trace.ask(is_less(*a, *b));
          break;
        case Py_LE:
          holds = trace.ask(is_less_equal(*a, *b));
          break;
        case Py_GT:
          holds = trace.ask(is_less(*b, *a));
          break;
        default:
          holds = trace.ask(is_less_equal(*b, *a));
      }
    });
    if (is_small) return Ref::boolean(holds);
  }
  if (!holds_size(tracer, left.get()) && !holds_size(tracer, right.get())) return std::nullopt;
  const bool is_equality = comparison == Py_EQ || comparison == Py_NE;
  const bool are_alike = (PyTuple_Check(left.get()) && PyTuple_Check(right.get())) ||
                         (PyList_CheckExact(left.get()) && PyList_CheckExact(right.get()));
  if (is_equality && are_alike && fill_if_stand_in(tracer, left.get()) && fill_if_stand_in(tracer, right.get())) {
    const int equal = sequences_equal(tracer, left.get(), right.get());
    return equal < 0 ? Ref() : Ref::boolean((equal == 1) == (comparison == Py_EQ));
  }
  if (!settle(tracer, left) || !settle(tracer, right)) return Ref();
  return std::nullopt;
}

std::optional<Ref> call_with_sizes(Tracer& tracer, PyObject* callable, Arguments& arguments, std::vector<Ref>& room) {
  const bool any =
      std::ranges::any_of(arguments.values, [&](const Ref& value) { return holds_size(tracer, value.get()); });
  if (!any) return std::nullopt;
  if (std::optional<Ref> result = call_builtin(tracer, callable, arguments)) return result;
  if (arguments.values.size() == 2 && !arguments.keyword_names) {
    if (const char* name = builtin_name(callable, "_operator")) {
      PyObject *left = arguments.values[0].get(), *right = arguments.values[1].get();
      if (const int number = binary_operator_named(name); number >= 0)
        return binary_operation(tracer, number, left, right);
      if (const int comparison = comparison_named(name); comparison >= 0)
        return compare(tracer, comparison, left, right);
    }
  }
  if (takes_symbolic_ints(tracer, callable, arguments)) return std::nullopt;
  room.clear();
  for (const Ref& value : arguments.values) {
    room.push_back(settled(tracer, value.get()));
    if (!room.back()) return Ref();
  }
  arguments.values = room;
  return std::nullopt;
}

}  // namespace minidynamo
