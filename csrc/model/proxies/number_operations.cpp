#include "model/proxies/number_call.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "model/protocols/abstract.h"
#include "model/protocols/operator.h"
#include "model/proxies/size_operation.h"
#include "model/tensors/tensor_call.h"
#include "python/native_method.h"
#include "python/objects/native_contents.h"
#include "python/process/out_of_memory.h"
#include "world/external/known_types.h"
#include "world/proxies/symbolic_float.h"
#include "world/state/held_values.h"

namespace minidynamo {
namespace {

using std::string_view;

Ref float64() { return Ref::borrow("torch.float64"_imported); }

// A constant as a float; null without a Python error if it is no such number.
Ref as_float(PyObject* object) {
  const bool is_int = PyLong_CheckExact(object);
  if (!is_int && !PyFloat_CheckExact(object)) return nullptr;
  if (!is_int) return Ref::borrow(object);
  const double value = PyLong_AsDouble(object);
  if (value == -1 && PyErr_Occurred()) return clear_error(), nullptr;
  return Ref::made(PyFloat_FromDouble(value));
}

// The tensor that a number is, made of a constant or of an int that may differ if need be, once for each.
Ref as_tensor(Tracer& tracer, PyObject* object) {
  if (is_symbolic_float(object)) return Ref::borrow(tensor_of_number(object));
  if (PyObject* known = tracer.world.replacement_of(object)) return Ref::borrow(known);
  static constinit Imported full{"torch.full"};
  static PyObject* const option_names[] = {"dtype"_name, "device"_name};
  const Ref names = Ref::made(PyTuple_Pack(2, option_names[0], option_names[1]));
  const bool may_differ = is_size(tracer, object);
  Ref values[] = {Ref::made(PyTuple_New(0)), may_differ ? Ref::made(PyFloat_FromDouble(0)) : as_float(object),
                  float64(), Ref::made(PyUnicode_InternFromString("cpu"))};
  if (!values[1]) return nullptr;
  const Arguments arguments{values, names.get()};
  Ref made;
  if (may_differ) {  // which looks the same whatever it is filled with
    made = execute(tracer, NodeKind::CallFunction, full, arguments);
    values[1] = Ref::borrow(object);
    if (!made || !record_node(tracer, NodeKind::CallFunction, full, arguments, made.get(), false)) return nullptr;
  } else {
    made = record_call(tracer, NodeKind::CallFunction, full, arguments);
  }
  if (!made) return nullptr;
  tracer.identities.kept.push_back(Ref::borrow(object));
  tracer.world.replace(object, made);
  return made;
}

// The same, but what torch computes with as with a float of CPython's may stay one.
Ref as_operand(Tracer& tracer, PyObject* object) {
  return is_symbolic_float(object) || is_size(tracer, object) ? as_tensor(tracer, object) : as_float(object);
}

// Ends the trace because of the first number that is not known.
std::nullptr_t refuse(Tracer& tracer, const Arguments& arguments, const std::string& what) {
  PyObject* unknown = nullptr;
  for (const Ref& value : arguments.values)
    any_held(value.get(), [&](PyObject* held) {
      if (!unknown && is_symbolic_float(held) && !facts_of_number(held).value) unknown = held;
      return unknown != nullptr;
    });
  if (unknown) return refuse_number(tracer, unknown, what);
  return tracer.abort(BreakReason::ScalarRead, what + " needs the value of a number that the trace does not know");
}

// As a double, where the trace has it: of a traced number, a symbolic int or a constant.
std::optional<double> present_value(Tracer& tracer, PyObject* object) {
  Ref value;
  if (is_symbolic_float(object))
    value = facts_of_number(object).value;
  else if (!is_size(tracer, object))
    value = as_float(object);
  else if (const Expression e = expression_of(object); !tracer.symbols.trace().is_unknown(e))
    return static_cast<double>(tracer.symbols.trace().value_of(e));
  return value ? std::optional(PyFloat_AS_DOUBLE(value.get())) : std::nullopt;
}

// The value of a constant that a double holds exactly.
std::optional<double> exact_float(PyObject* object) {
  constexpr double kExact = 9007199254740992.0;  // 2 ** 53
  const Ref value = as_float(object);
  if (!value || (PyLong_CheckExact(object) && !(std::abs(PyFloat_AS_DOUBLE(value.get())) < kExact)))
    return std::nullopt;
  return PyFloat_AS_DOUBLE(value.get());
}

// The facts that are known of a number computed from two.
NumberFacts facts_of_result(Tracer& tracer, string_view operation, PyObject* left, PyObject* right) {
  NumberFacts facts;
  for (PyObject* operand : {left, right}) {
    if (is_size(tracer, operand)) facts.sizes.push_back(expression_of(operand));
    if (!is_symbolic_float(operand)) continue;
    const NumberFacts& own = facts_of_number(operand);
    facts.sources.insert(facts.sources.end(), own.sources.begin(), own.sources.end());
    facts.sizes.insert(facts.sizes.end(), own.sizes.begin(), own.sizes.end());
    if (!facts.asked) facts.asked = own.asked;
    facts.is_any |= own.is_any;
  }
  const std::optional<double> a = present_value(tracer, left), b = present_value(tracer, right);
  if (!a || !b || operation == "pow") return facts;
  if (operation == "truediv" && *b == 0) return facts;
  facts.value = Ref::made(PyFloat_FromDouble(operation == "add"   ? *a + *b
                                             : operation == "sub" ? *a - *b
                                             : operation == "mul" ? *a * *b
                                                                  : *a / *b));
  return facts;
}

// Takes the values of both, for CPython to compute with.
Ref by_values(Tracer& tracer, int operator_number, PyObject* left, PyObject* right) {
  const Ref a = specialized(tracer, left), b = a ? specialized(tracer, right) : Ref();
  if (!a || !b) return nullptr;
  for (const Ref& operand : {a, b})
    if (is_symbolic_float(operand.get())) return refuse_number(tracer, operand.get(), "an operator");
  return binary_operation(tracer, operator_number, a.get(), b.get());
}

bool is_true(Ref answer) { return answer.is(Py_True); }
Ref ask(PyObject* tensor, const char* question) { return call_native_method(tensor, question); }

Ref convert(Tracer& tracer, PyObject* tensor, const Ref& dtype) {
  const Ref values[] = {Ref::borrow(tensor), dtype};
  return record_call(tracer, NodeKind::CallMethod, "to"_name, Arguments{values});
}

// Compilers compute what has no dimensions anew for each element of what it is used with, but for what other views
// show.
Ref computed_once(Tracer& tracer, PyObject* tensor) {
  const Ref values[] = {Ref::borrow(tensor), Ref::made(PyTuple_New(0)), Ref::made(PyTuple_New(0))};
  return record_call(tracer, NodeKind::CallMethod, "as_strided"_name, Arguments{values});
}

template <size_t n>
bool is_one_of(string_view name, const string_view (&names)[n]) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

string_view name_of(PyObject* target, Ref& holder) {
  holder = PyUnicode_Check(target) ? Ref::borrow(target) : Ref::steal(PyObject_GetAttr(target, "__name__"_name));
  clear_error();
  const char* text = holder && PyUnicode_Check(holder.get()) ? PyUnicode_AsUTF8(holder.get()) : nullptr;
  return text ? text : "";
}

// x.addcdiv_(a, b, value=number): torch wants a number there. It computes x + value * a / b, in this order.
Ref addcdiv(Tracer& tracer, bool in_place, const Arguments& arguments) {
  PyObject *x = arguments.values[0].get(), *a = arguments.values[1].get(), *b = arguments.values[2].get();
  const Ref number = number_beside(tracer, arguments.values[3].get(), a);
  const Ref scaled = number ? record_operator(tracer, "mul", {a, number.get()}) : Ref();
  const Ref quotient = scaled ? record_operator(tracer, "truediv", {scaled.get(), b}) : Ref();
  if (!quotient) return nullptr;
  const Ref values[] = {Ref::borrow(x), quotient};
  return record_call(tracer, NodeKind::CallMethod, in_place ? "add_"_name : "add"_name, Arguments{values});
}

bool has_dtype(PyObject* tensor, PyObject* one, PyObject* other) {
  const Ref dtype = is_fake(tensor) ? native_attribute(tensor, "dtype"_name) : Ref();
  return dtype && (dtype.is(one) || dtype.is(other));
}

bool is_wide_float(PyObject* tensor) { return has_dtype(tensor, "torch.float32"_imported, float64().get()); }

bool is_half(PyObject* tensor) { return has_dtype(tensor, "torch.float16"_imported, "torch.bfloat16"_imported); }

// True for a tensor of half the width and without dimensions: torch computes with the number as it is, before it
// rounds.
bool is_short_scalar(PyObject* tensor) {
  if (!is_half(tensor)) return false;
  return PyLong_AsLong(ask(tensor, "dim").get()) == 0;
}

bool is_of_operator_module(PyObject* target) {
  if (!PyCFunction_Check(target)) return false;
  const Ref module = Ref::steal(PyObject_GetAttrString(target, "__module__"));
  clear_error();
  return module && PyUnicode_Check(module.get()) && !PyUnicode_CompareWithASCIIString(module.get(), "_operator");
}

// `number * tensor` and the like, also `number *= tensor`: CPython calls the tensor's reflected method, which computes
// `tensor * number`, and `tensor.reciprocal() * number` for a quotient. The order counts: of a product in half the
// width torch rounds the first number, and not the second.
Ref reflected(Tracer& tracer, string_view name, PyObject* number, PyObject* tensor) {
  const string_view plain = name.starts_with('i') ? name.substr(1) : name;
  Ref own = Ref::borrow(tensor);
  if (plain == "truediv") {
    own = record_call(tracer, NodeKind::CallMethod, "reciprocal"_name, Arguments{std::span<const Ref>(&own, 1)});
  }
  const Ref beside = own ? number_beside(tracer, number, own.get()) : Ref();
  if (!beside) return nullptr;
  if (plain == "mul" || plain == "add" || plain == "truediv")
    return record_operator(tracer, plain == "add" ? "add" : "mul", {own.get(), beside.get()});
  return record_operator(tracer, plain.data(), {beside.get(), own.get()});
}

// The dtype that torch takes a float as beside the tensor; `is_wide`: at least torch.float32, as torch.where does.
Ref dtype_of_result(PyObject* tensor, bool is_wide) {
  static constinit Imported default_dtype{"torch.get_default_dtype"}, single{"torch.float32"},
      double_complex{"torch.complex128"};
  const bool is_complex = is_true(ask(tensor, "is_complex"));
  if (!is_complex && !is_true(ask(tensor, "is_floating_point"))) return Ref::made(PyObject_CallNoArgs(default_dtype));
  Ref dtype = native_attribute(tensor, "dtype"_name);
  if (!is_wide || dtype.is(float64().get())) return dtype;
  return dtype.is(double_complex) ? float64() : Ref::borrow(single);
}

// torch._foreach_mul_(tensors, numbers): as tensors, each beside its own.
// `is_rounded`: torch._foreach_mul_ rounds a number beside a tensor of half the width to its dtype first.
Ref tensors_beside(Tracer& tracer, PyObject* numbers, PyObject* tensors, bool is_rounded = false) {
  if (is_symbolic_float(numbers) && (PyList_CheckExact(tensors) || PyTuple_CheckExact(tensors))) {
    Ref same = Ref::made(PyList_New(PySequence_Fast_GET_SIZE(tensors)));
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(same.get()); ++i)
      PyList_SET_ITEM(same.get(), i, Ref::borrow(numbers).release());
    return tensors_beside(tracer, same.get(), tensors, is_rounded);
  }
  const bool are_lists = (PyList_CheckExact(numbers) || PyTuple_CheckExact(numbers)) &&
                         (PyList_CheckExact(tensors) || PyTuple_CheckExact(tensors)) &&
                         PySequence_Fast_GET_SIZE(numbers) == PySequence_Fast_GET_SIZE(tensors);
  if (!are_lists) return nullptr;
  Ref made = Ref::made(PyList_New(0));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(numbers); ++i) {
    PyObject* tensor = PySequence_Fast_GET_ITEM(tensors, i);
    Ref beside = is_fake(tensor) ? number_beside(tracer, PySequence_Fast_GET_ITEM(numbers, i), tensor) : Ref();
    if (beside && is_rounded && is_half(tensor)) beside = convert(tracer, beside.get(), dtype_of_result(tensor, false));
    if (!beside || PyList_Append(made.get(), beside.get()) < 0) return nullptr;
  }
  return made;
}

bool are_wide_floats(PyObject* list) {
  if (!PyList_CheckExact(list) && !PyTuple_CheckExact(list)) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list); ++i)
    if (!is_wide_float(PySequence_Fast_GET_ITEM(list, i))) return false;
  return true;
}

// The same for lists, in place.
Ref foreach_addcdiv(Tracer& tracer, const Arguments& arguments) {
  const std::span<const Ref> values = arguments.values;
  const Ref numbers = tensors_beside(tracer, values[3].get(), values[1].get());
  if (!numbers) return tracer.is_over() ? Ref() : refuse(tracer, arguments, "_foreach_addcdiv_()");
  const Ref factors[] = {values[1], numbers};
  const Ref scaled = record_call(tracer, NodeKind::CallFunction, "torch._foreach_mul"_imported, Arguments{factors});
  if (!scaled) return nullptr;
  const Ref parts[] = {scaled, values[2]}, sum[] = {values[0], scaled};
  if (!record_call(tracer, NodeKind::CallFunction, "torch._foreach_div_"_imported, Arguments{parts})) return nullptr;
  return record_call(tracer, NodeKind::CallFunction, "torch._foreach_add_"_imported, Arguments{sum});
}

bool is_keyword(const Arguments& arguments, size_t place, const char* name) {
  const size_t count = arguments.positional_count();
  return place >= count && place < arguments.values.size() &&
         !PyUnicode_CompareWithASCIIString(
             PyTuple_GET_ITEM(arguments.keyword_names, static_cast<Py_ssize_t>(place - count)), name);
}

// x.add_(y, alpha=number) and the like: what is recorded in its place reads the number when the graph runs, for a sum
// rounds otherwise where its factor is multiplied in before (minidynamo/_runtime/scaled.py).
Ref scaled_sum(Tracer& tracer, NodeKind kind, PyObject* target, PyObject* scaled, const Arguments& arguments) {
  const Arguments plain{arguments.values.first(2)};
  tracer.consume_side_effect_flag();
  const Ref result = execute(tracer, kind, target, plain);
  if (tracer.is_over()) return nullptr;
  if (!result) return clear_error(), tracer.abort(BreakReason::OperatorRaised, target_text(target) + " raised");
  if (!can_be_carried(tracer, target, result.get())) return nullptr;
  const Ref values[] = {plain.values[0], plain.values[1], Ref::borrow(tensor_of_number(arguments.values[2].get()))};
  const bool impure = tracer.consume_side_effect_flag();
  return record_node(tracer, NodeKind::CallFunction, scaled, Arguments{values}, result.get(), impure) ? result : Ref();
}

// x.clamp(number, number) and its like: with bounds that are tensors both of them are. torch.where(condition, x,
// number).
std::optional<Ref> among_tensors(Tracer& tracer, NodeKind kind, PyObject* target, string_view name,
                                 const Arguments& arguments) {
  static constexpr string_view kBounds[] = {"clamp", "clamp_", "clip", "clip_", "clamp_min", "clamp_max"};
  const std::span<const Ref> given = arguments.values;
  const size_t first = name == "where" ? 1 : 0;
  if ((first && given.size() != 3) || (!first && !is_one_of(name, kBounds))) return std::nullopt;
  PyObject* const beside = first && !is_fake(given[1].get()) ? given[2].get() : given[first].get();
  if (!is_fake(beside)) return std::nullopt;
  const Ref dtype = dtype_of_result(beside, first != 0);
  std::vector<Ref> values;
  for (size_t i = 0; i < given.size(); ++i) {
    const bool is_number = is_symbolic_float(given[i].get()) || as_float(given[i].get());
    if (!is_number && !given[i].is(Py_None) && !is_fake(given[i].get())) return std::nullopt;
    if (is_number && !number_fits(tracer, given[i].get(), dtype.get())) return std::nullopt;
    values.push_back(is_number ? number_beside(tracer, given[i].get(), beside) : given[i]);
    if (!values.back()) return Ref();
  }
  return record_call(tracer, kind, target, Arguments{values, arguments.keyword_names});
}

// A tensor that is filled with a number may be filled with a tensor of any dtype: it keeps its own dtype.
std::optional<Ref> filled(Tracer& tracer, NodeKind kind, PyObject* target, string_view name,
                          const Arguments& arguments) {
  static constexpr string_view kNames[] = {"fill_", "masked_fill", "masked_fill_"};
  const std::span<const Ref> values = arguments.values;
  if (!is_one_of(name, kNames) || arguments.keyword_names || values.empty() || !is_wide_float(values[0].get()) ||
      !is_symbolic_float(values.back().get()) ||
      !number_fits(tracer, values.back().get(), dtype_of_result(values[0].get(), false).get()))
    return std::nullopt;
  std::vector<Ref> given(values.begin(), values.end());
  given.back() = Ref::borrow(tensor_of_number(given.back().get()));
  return record_call(tracer, kind, target, Arguments{given});
}

// torch._fused_adam_(..., lr=number): there are forms that take a tensor.
Ref fused_step(Tracer& tracer, NodeKind kind, PyObject* target, const Arguments& arguments) {
  std::vector<Ref> values(arguments.values.begin(), arguments.values.end());
  for (size_t i = arguments.positional_count(); i < values.size(); ++i)
    if (is_symbolic_float(values[i].get()) && is_keyword(arguments, i, "lr"))
      values[i] = Ref::borrow(tensor_of_number(values[i].get()));
  const Arguments given{values, arguments.keyword_names};
  return holds_symbolic_float(given) ? refuse(tracer, given, target_text(target) + "()")
                                     : record_call(tracer, kind, target, given);
}

}  // namespace

Ref number_binary(Tracer& tracer, const char* operator_name, PyObject* left, PyObject* right) {
  const string_view name = operator_name;
  static constexpr string_view kKnown[] = {"add", "sub", "mul", "truediv", "pow"};
  const string_view plain = name.starts_with('i') ? name.substr(1) : name;
  const auto is_any = [](PyObject* operand) { return is_symbolic_float(operand) && facts_of_number(operand).is_any; };
  // That it is not zero may be all that is taken of it.
  const auto may_be_zero = [&](PyObject* divisor) {
    return is_any(divisor) && compare_number(tracer, divisor, Py_NE, 0) != true;
  };
  const auto may_stand = [&](PyObject* operand) {
    return is_symbolic_float(operand) || is_size(tracer, operand) || PyFloat_CheckExact(operand) ||
           PyLong_CheckExact(operand);
  };
  // torch divides a number by multiplying it with a reciprocal, and takes some powers by other ways than CPython.
  const bool is_quotient = plain == "truediv", is_power = plain == "pow";
  const bool is_known = is_one_of(plain, kKnown) && may_stand(left) && may_stand(right);
  const auto is_zero = [&](PyObject* divisor) {
    return is_size(tracer, divisor) ? tracer.symbols.trace().ask(is_equal(expression_of(divisor), constant(0)))
                                    : present_value(tracer, divisor) == 0.0;
  };
  const bool may_raise = (is_power && (is_any(left) || is_any(right))) ||
                         (is_quotient && (may_be_zero(right) || (is_known && is_zero(right))));
  if (!is_known || may_raise) return by_values(tracer, binary_operator_named(plain.data()), left, right);
  const Ref left_operand = is_quotient ? as_tensor(tracer, left) : as_operand(tracer, left);
  const Ref right_operand = is_power ? as_tensor(tracer, right) : as_operand(tracer, right);
  if (tracer.is_over()) return nullptr;
  if (!left_operand || !right_operand)  // too large for a float
    return by_values(tracer, binary_operator_named(plain.data()), left, right);
  const Ref operands[] = {left_operand, right_operand};
  Ref result = is_power ? record_call(tracer, NodeKind::CallFunction, "torch.pow"_imported, Arguments{operands})
                        : record_operator(tracer, plain.data(), {left_operand.get(), right_operand.get()});
  if (!result) return nullptr;
  return make_symbolic_float(tracer, std::move(result), facts_of_result(tracer, plain, left, right));
}

Ref number_compare(Tracer& tracer, int comparison, PyObject* left, PyObject* right) {
  static constexpr int kReflected[] = {Py_GT, Py_GE, Py_EQ, Py_NE, Py_LT, Py_LE};
  if (const auto other = exact_float(right); other && is_symbolic_float(left))
    if (const auto answer = compare_number(tracer, left, comparison, *other)) return Ref::boolean(*answer);
  if (const auto other = exact_float(left); other && is_symbolic_float(right))
    if (const auto answer = compare_number(tracer, right, kReflected[comparison], *other)) return Ref::boolean(*answer);
  const Ref a = specialized(tracer, left), b = a ? specialized(tracer, right) : Ref();
  if (!a || !b) return nullptr;
  for (const Ref& operand : {a, b})
    if (is_symbolic_float(operand.get()) && facts_of_number(operand.get()).asked)
      return refuse_number(tracer, operand.get(), "a comparison");
  if (is_symbolic_float(a.get()) || is_symbolic_float(b.get()))
    return tracer.abort(BreakReason::DataDependentBranch, "a number that the trace does not know is compared");
  return compare(tracer, comparison, a.get(), b.get());
}

Ref number_negative(Tracer& tracer, PyObject* number) {
  Ref negative = record_operator(tracer, "neg", {tensor_of_number(number)});
  if (!negative) return nullptr;
  NumberFacts facts = facts_of_number(number);
  if (facts.value) facts.value = Ref::made(PyFloat_FromDouble(-PyFloat_AS_DOUBLE(facts.value.get())));
  facts.magnitude = source_of_magnitude(facts_of_number(number));
  return make_symbolic_float(tracer, std::move(negative), std::move(facts));
}

Ref number_beside(Tracer& tracer, PyObject* number, PyObject* tensor) {
  const Ref own = as_tensor(tracer, number);
  if (!own) return nullptr;
  const bool is_inexact = is_true(ask(tensor, "is_floating_point")) || is_true(ask(tensor, "is_complex"));
  if (!is_inexact) {
    const Ref dtype = Ref::made(PyObject_CallNoArgs("torch.get_default_dtype"_imported));
    return convert(tracer, own.get(), dtype);
  }
  // Beside a tensor with dimensions one without has no say in the dtype.
  if (PyLong_AsLong(ask(tensor, "dim").get()) > 0) return computed_once(tracer, own.get());
  const Ref dtype = native_attribute(tensor, "dtype"_name);
  return dtype == float64() ? own : convert(tracer, own.get(), dtype);
}

bool number_fits(Tracer& tracer, PyObject* number, PyObject* dtype) {
  static constinit Imported half{"torch.float16"}, other_half{"torch.bfloat16"}, single{"torch.float32"};
  if (is_symbolic_float(number) && !facts_of_number(number).value) return true;  // read out of a tensor
  if (float64().is(dtype)) return true;
  const double limit = dtype == half         ? 65504.0
                       : dtype == other_half ? 0x1.fep127
                       : dtype == single     ? static_cast<double>(std::numeric_limits<float>::max())
                                             : -1;
  if (limit < 0) return false;
  if (is_symbolic_float(number)) return number_outgrows(tracer, number, limit) == false;
  const Ref constant = as_float(number);
  const double value = constant ? PyFloat_AS_DOUBLE(constant.get()) : 0;
  return constant && !(std::isfinite(value) && std::abs(value) > limit);
}

// A number, or one for each of the tensors.
bool numbers_fit(Tracer& tracer, PyObject* numbers, PyObject* tensors) {
  const bool is_list = PyList_CheckExact(numbers) || PyTuple_CheckExact(numbers);
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(tensors);
  if (is_list && PySequence_Fast_GET_SIZE(numbers) != count) return false;
  for (Py_ssize_t i = 0; i < count; ++i) {
    const Ref dtype = dtype_of_result(PySequence_Fast_GET_ITEM(tensors, i), false);
    if (!number_fits(tracer, is_list ? PySequence_Fast_GET_ITEM(numbers, i) : numbers, dtype.get())) return false;
  }
  return true;
}

bool holds_symbolic_float(const Arguments& arguments) {
  return std::ranges::any_of(arguments.values,
                             [](const Ref& value) { return any_held(value.get(), is_symbolic_float); });
}

Ref record_call_with_numbers(Tracer& tracer, NodeKind kind, PyObject* target, const Arguments& arguments) {
  Ref holder;
  const string_view name = name_of(target, holder);
  const std::span<const Ref> values = arguments.values;
  const bool is_addcdiv = name == "addcdiv" || name == "addcdiv_";
  if (is_addcdiv && values.size() == 4 && is_keyword(arguments, 3, "value") && is_symbolic_float(values[3].get()) &&
      !PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(arguments.keyword_names, 0), "value") &&
      is_wide_float(values[0].get()) && is_wide_float(values[1].get()) && is_wide_float(values[2].get()) &&
      number_fits(tracer, values[3].get(), dtype_of_result(values[0].get(), false).get()))
    return addcdiv(tracer, name == "addcdiv_", arguments);
  static constexpr string_view kPairs[] = {"add",      "add_", "sub",  "sub_", "mul",         "mul_",         "div",
                                           "div_",     "iadd", "isub", "imul", "true_divide", "true_divide_", "truediv",
                                           "itruediv", "eq",   "ne",   "lt",   "le",          "gt",           "ge"};
  static constexpr string_view kLists[] = {"_foreach_add", "_foreach_add_", "_foreach_sub", "_foreach_sub_",
                                           "_foreach_mul", "_foreach_mul_", "_foreach_div", "_foreach_div_"};
  Ref replaced;
  if (values.size() == 2 && !arguments.keyword_names) {
    PyObject *left = values[0].get(), *right = values[1].get();
    const auto is_programs = [](PyObject* operand) {
      return is_symbolic_float(operand) && facts_of_number(operand).is_any;
    };
    const auto is_short_beside = [&](PyObject* number, PyObject* tensor) {
      return any_held(number, is_programs) && any_held(tensor, is_short_scalar);
    };
    const bool is_short = is_short_beside(left, right) || is_short_beside(right, left);
    const bool is_pair = is_one_of(name, kPairs) && !is_short;
    const bool is_left = is_symbolic_float(left);
    if (is_pair && is_left && is_fake(right)) {
      if (is_of_operator_module(target)) return reflected(tracer, name, left, right);
      const Ref operands[] = {number_beside(tracer, left, right), values[1]};
      return operands[0] ? record_call(tracer, kind, target, Arguments{operands}) : Ref();
    }
    if (is_pair && is_fake(left) && is_symbolic_float(right)) replaced = number_beside(tracer, right, left);
    if (is_one_of(name, kLists) && !is_short) replaced = tensors_beside(tracer, right, left, name == "_foreach_mul_");
    if (tracer.is_over()) return nullptr;
    if (replaced) {
      const Ref operands[] = {values[0], replaced};
      return record_call(tracer, kind, target, Arguments{operands});
    }
  }
  if (name.starts_with("_fused_")) return fused_step(tracer, kind, target, arguments);
  if (values.size() == 3 && arguments.positional_count() == 2 && is_keyword(arguments, 2, "alpha") &&
      is_symbolic_float(values[2].get())) {
    const bool are_tensors = is_wide_float(values[0].get()) && is_wide_float(values[1].get());
    if (name == "add" && are_tensors)
      return scaled_sum(tracer, kind, target, "minidynamo._runtime.scaled.add"_imported, arguments);
    if (name == "add_" && are_tensors)
      return scaled_sum(tracer, kind, target, "minidynamo._runtime.scaled.add_"_imported, arguments);
    if (name == "_foreach_add_" && are_wide_floats(values[0].get()) && are_wide_floats(values[1].get()))
      return scaled_sum(tracer, kind, target, "minidynamo._runtime.scaled.foreach_add_"_imported, arguments);
  }
  if (name == "_foreach_addcdiv_" && values.size() == 4 &&
      (!arguments.keyword_names || is_keyword(arguments, 3, "value")) && are_wide_floats(values[0].get()) &&
      are_wide_floats(values[1].get()) && are_wide_floats(values[2].get()) &&
      numbers_fit(tracer, values[3].get(), values[0].get()))
    return foreach_addcdiv(tracer, arguments);
  if (auto result = among_tensors(tracer, kind, target, name, arguments)) return std::move(*result);
  if (auto result = filled(tracer, kind, target, name, arguments)) return std::move(*result);
  // A number that follows from the call's arguments is a constant to all other operators.
  std::vector<Ref> taken;
  for (const Ref& value : values) {
    taken.push_back(specialized(tracer, value.get()));
    if (!taken.back()) return nullptr;
  }
  const Arguments plain{taken, arguments.keyword_names};
  return holds_symbolic_float(plain) ? refuse(tracer, plain, std::string(name) + "()")
                                     : record_call(tracer, kind, target, plain);
}

}  // namespace minidynamo
