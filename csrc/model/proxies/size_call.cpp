// Who deals with symbolic ints: functions that are traced into, operators on tensors, some builtins, and what only
// moves its arguments. To all others they are the numbers that they are.
#include "model/proxies/size_call.h"

#include <algorithm>
#include <string_view>

#include "model/native/native_call.h"
#include "model/native/reported_type.h"
#include "model/protocols/abstract.h"
#include "model/protocols/operator.h"
#include "model/protocols/rule.h"
#include "model/protocols/upward.h"
#include "model/proxies/size_operation.h"
#include "python/code/bound_method.h"
#include "python/process/out_of_memory.h"
#include "python/unstable.h"
#include "python/version/type_version.h"
#include "tensor/fake/fake.h"
#include "world/external/enter.h"
#include "world/external/known_types.h"
#include "world/proxies/symbolic_float.h"
#include "world/state/held_values.h"

namespace minidynamo {
namespace {

bool is_sequence(PyObject* object) noexcept { return PyTuple_Check(object) || PyList_CheckExact(object); }

const char* builtin_name(PyObject* callable, const char* module) noexcept {
  if (!PyCFunction_Check(callable)) return nullptr;
  PyObject* self = PyCFunction_GET_SELF(callable);
  if (!self || !PyModule_Check(self)) return nullptr;
  const char* name = PyModule_GetName(self);
  clear_error();
  return name && std::string_view(name) == module ? as_builtin(callable)->m_ml->ml_name : nullptr;
}

bool is_one_of(const char* name, std::initializer_list<std::string_view> names) noexcept {
  return name && std::ranges::find(names, std::string_view(name)) != names.end();
}

// The smallest or largest of numbers of which some are floats: the first that none of the others is beyond.
std::optional<Ref> extreme_of_floats(Tracer& tracer, std::span<const Ref> values, bool is_least) {
  const Ref* result = nullptr;
  std::optional<FloatExpression> best;
  for (const Ref& value : values) {
    const std::optional<FloatExpression> e = float_expression(tracer, value.get());
    if (!e) return std::nullopt;
    if (best && !tracer.symbols.trace().ask(is_least ? is_less(*e, *best) : is_less(*best, *e))) continue;
    result = &value, best = e;
  }
  return result ? std::optional(*result) : std::nullopt;
}

// The smallest or largest of numbers.
std::optional<Ref> extreme(Tracer& tracer, std::span<const Ref> values, bool is_least) {
  std::optional<Expression> result;
  for (const Ref& value : values) {
    const std::optional<Expression> e = size_expression(tracer, value.get());
    if (!e) return extreme_of_floats(tracer, values, is_least);
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
    if (!size_expression(tracer, value.get())) return std::nullopt;
    result = binary_operation(tracer, binary_operator_named("mul"), result.get(), value.get());
    if (!result) return result;
  }
  return result;
}

// Functions of one number that math and builtins have for floats: the integers made of them, and the root.
std::optional<Ref> call_float_function(Tracer& tracer, PyObject* callable, const Ref& value) {
  const char* name = builtin_name(callable, "math");
  if (is_one_of(name, {"floor"})) return size_rounded(tracer, Rounding::Floor, value.get());
  if (is_one_of(name, {"ceil"})) return size_rounded(tracer, Rounding::Ceiling, value.get());
  if (is_one_of(name, {"trunc"}) || callable == as_object(&PyLong_Type))
    return size_rounded(tracer, Rounding::Truncate, value.get());
  if (is_one_of(builtin_name(callable, "builtins"), {"round"}))
    return size_rounded(tracer, Rounding::Nearest, value.get());
  const std::optional<FloatExpression> e = float_expression(tracer, value.get());
  if (!e || constant_value(*e)) return std::nullopt;
  TraceSizes& trace = tracer.symbols.trace();
  if (is_one_of(name, {"sqrt"})) return size_float(tracer, trace.root(*e));
  if (callable == as_object(&PyFloat_Type)) return size_float(tracer, e);
  if (!is_size_float(tracer, value.get())) return std::nullopt;
  if (callable == as_object(&PyBool_Type)) return Ref::boolean(float_truth(tracer, value.get()));
  if (is_one_of(builtin_name(callable, "builtins"), {"abs"})) {
    const FloatExpression zero = float_constant(0);  // which -0.0 is less than by its sign alone
    if (trace.ask(is_equal(*e, zero))) return size_float(tracer, zero);
    return size_float(tracer, trace.ask(is_less(*e, zero)) ? -*e : *e);
  }
  return std::nullopt;
}

// True if those are asked for all items of a sequence.
bool computes_of_items(PyObject* callable) {
  return is_one_of(builtin_name(callable, "builtins"), {"min", "max", "sum"}) ||
         is_one_of(builtin_name(callable, "math"), {"prod"});
}

// The results of functions of builtins and math for symbolic ints; nullopt: no rule for such a call.
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
      Ref quotient = binary_operation(tracer, binary_operator_named("floordiv"), values[0].get(), values[1].get());
      Ref remainder =
          quotient ? binary_operation(tracer, binary_operator_named("mod"), values[0].get(), values[1].get()) : Ref();
      return remainder ? Ref::made(PyTuple_Pack(2, quotient.get(), remainder.get())) : Ref();
    }
    if (is_one_of(name, {"pow"}) && count == 2)
      return binary_operation(tracer, binary_operator_named("pow"), values[0].get(), values[1].get());
    const auto is_float = [&](PyObject* item) { return is_size_float(tracer, item); };
    if (is_one_of(name, {"sum"}) && count == 1 && is_sequence(values[0].get()) &&
        !any_held(values[0].get(), is_float)) {
      Ref sum = Ref::made(PyLong_FromLong(0));
      for (const Ref& item : items_of_sequence(values[0].get())) {
        sum = binary_operation(tracer, binary_operator_named("add"), sum.get(), item.get());
        if (!sum) return sum;
      }
      return sum;
    }
  }
  // The call that a metaclass's own method comes to make: type.__instancecheck__, bound to the class.
  PyObject* self = bound_self(callable);
  if (self && PyType_Check(self) && count == 1 &&
      (is_size_or_float(tracer, values[0].get()) || is_symbolic_float(values[0].get())) &&
      is_one_of(as_builtin(callable)->m_ml->ml_name, {"__instancecheck__"}))
    return Ref::boolean(PyType_IsSubtype(type_stood_for(values[0].get()), as_type(self)));
  if (is_one_of(builtin_name(callable, "math"), {"prod"}) && count == 1 && is_sequence(values[0].get()))
    return product(tracer, items_of_sequence(values[0].get()));
  if (is_one_of(builtin_name(callable, "_operator"), {"index"}) && count == 1 && is_size(tracer, values[0].get()))
    return values[0];
  if (count == 1)
    if (std::optional<Ref> result = call_float_function(tracer, callable, values[0])) return result;
  if (callable == as_object(&PyFloat_Type) && count == 1 && is_symbolic_float(values[0].get())) return values[0];
  if (callable == as_object(&PyBool_Type) && count == 1 && is_unknown_truth(tracer, values[0].get())) return values[0];
  if (callable == as_object(&PyBool_Type) && count == 1 && is_size(tracer, values[0].get()))
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
    name = as_builtin(callable)->m_ml->ml_name;
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

// A function that is traced gets its arguments as they are.
bool is_traced_into(PyObject* callable) { return PyFunction_Check(callable) && !find_rule(callable); }

// True if what is called deals with symbolic ints itself.
bool takes_symbolic_ints(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (Py_IS_TYPE(callable, &PyMethod_Type) || is_bound_slot(callable) || Py_IS_TYPE(callable, known_types()->partial))
    return true;
  if (const Rule* rule = find_rule(callable)) {
    switch (rule->kind) {
      case Rule::Kind::TensorFunction:
      case Rule::Kind::TensorMethod:
      case Rule::Kind::Leaf:
      case Rule::Kind::TensorData:
        return !tracer.transforms.records_operators();
      case Rule::Kind::NumberHandler:  // functions of C are operators
        return PyFunction_Check(callable) || !tracer.transforms.records_operators();
      case Rule::Kind::Inline:
        return true;
      case Rule::Kind::Operator:
        return std::ranges::any_of(arguments.values, [](const Ref& value) { return is_fake(value.get()); });
      default:
        break;
    }
    if (Py_IS_TYPE(callable, &PyWrapperDescr_Type) || is_bound_slot(callable)) {
      const Ref name = Ref::steal(PyObject_GetAttrString(callable, "__name__"));
      const char* text = name && PyUnicode_Check(name.get()) ? PyUnicode_AsUTF8(name.get()) : nullptr;
      clear_error();
      if (is_one_of(text, {"__setattr__"})) return true;  // the stored value is not looked at
    }
    const char* builtin = builtin_name(callable, "builtins");
    if (is_one_of(builtin, {"len", "iter", "next"}))
      return arguments.values.empty() || !stands_for_number(tracer, arguments.values[0].get());
    return is_one_of(builtin, {"isinstance", "print", "setattr", "zip"});
  }
  if (PyType_Check(callable)) {
    auto* type = as_type(callable);
    if (type == &PyEnum_Type) return arguments.values.size() == 1;  // it counts from the second
    return type == &PyTuple_Type || type == &PyList_Type || type == &PyZip_Type || type == &PyReversed_Type ||
           type == &PySlice_Type || type == &PyMap_Type || type == &PyType_Type ||
           (is_python_class(type) && !PyType_IsSubtype(type, &PyLong_Type));
  }
  if (only_moves(callable)) {
    // Keys are looked at.
    const size_t key = PyCFunction_Check(callable) ? 0 : 1;
    PyObject* self = key ? arguments.values[0].get() : PyCFunction_GET_SELF(callable);
    return !PyDict_Check(self) || arguments.values.size() <= key || !holds_size(tracer, arguments.values[key].get()) ||
           PyDict_Check(arguments.values[key].get());
  }
  return is_python_class(Py_TYPE(callable));
}

}  // namespace

std::optional<Ref> call_with_sizes(Tracer& tracer, PyObject* callable, Arguments& arguments, std::vector<Ref>& room,
                                   bool& specializes) {
  if (is_traced_into(callable)) return std::nullopt;
  // A method that moves its arguments does not look at what its container holds, which may be much at each of many
  // calls.
  const size_t container = !PyCFunction_Check(callable) && only_moves(callable) ? 1 : 0;
  const auto any = [&](const auto& is) {
    return std::ranges::any_of(std::span(arguments.values).subspan(std::min(container, arguments.values.size())),
                               [&](const Ref& value) { return is(tracer, value.get()); });
  };
  if (!any(may_hold_size)) return std::nullopt;
  const bool takes_them = takes_symbolic_ints(tracer, callable, arguments);
  if (computes_of_items(callable))
    for (const Ref& value : arguments.values)
      if (!materialize_if_shadow(tracer, value.get())) return Ref();
  // A value that has not been looked at yet may not be looked at by this call either, or not all of it.
  specializes = !takes_them;
  if (!any(holds_size)) return std::nullopt;
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
  if (takes_them) return std::nullopt;
  room.clear();
  for (const Ref& value : arguments.values) {
    room.push_back(holds_size(tracer, value.get()) ? specialized(tracer, value.get()) : value);
    if (!room.back()) return Ref();
  }
  arguments.values = room;
  return std::nullopt;
}

}  // namespace minidynamo
