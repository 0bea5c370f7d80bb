#include "model/number_call.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "model/held_values.h"
#include "model/tensor_call.h"
#include "python/out_of_memory.h"
#include "world/known_types.h"
#include "world/traced_number.h"

namespace minidynamo {
namespace {

using std::string_view;

Ref float64() {
  static constinit Imported dtype{"torch.float64"};
  return Ref::borrow(dtype);
}

// A constant as a float; null without a Python error if it is no such number.
Ref as_float(PyObject* object) {
  const bool is_int = PyLong_CheckExact(object);
  if (!is_int && !PyFloat_CheckExact(object)) return nullptr;
  if (!is_int) return Ref::borrow(object);
  const double value = PyLong_AsDouble(object);
  if (value == -1 && PyErr_Occurred()) return clear_error(), nullptr;
  return Ref::made(PyFloat_FromDouble(value));
}

// The tensor that a number is, made of a constant if need be, once for each.
Ref as_tensor(Tracer& tracer, PyObject* object) {
  if (is_traced_number(object)) return Ref::borrow(tensor_of_number(object));
  if (PyObject* known = tracer.world.replacement_of(object)) return Ref::borrow(known);
  static constinit Imported full{"torch.full"};
  static PyObject* const option_names[] = {interned("dtype"), interned("device")};
  const Ref names = Ref::made(PyTuple_Pack(2, option_names[0], option_names[1]));
  const Ref values[] = {Ref::made(PyTuple_New(0)), as_float(object), float64(),
                        Ref::made(PyUnicode_InternFromString("cpu"))};
  if (!values[1]) return nullptr;
  Ref made = record_call(tracer, NodeKind::CallFunction, full, Arguments{values, names.get()});
  if (!made) return nullptr;
  tracer.kept_for_identity.push_back(Ref::borrow(object));
  tracer.world.replace(object, made);
  return made;
}

// The same, but what torch computes with as with a float of CPython's may stay one.
Ref as_operand(PyObject* object) {
  return is_traced_number(object) ? Ref::borrow(tensor_of_number(object)) : as_float(object);
}

Ref refuse(Tracer& tracer, const std::string& what) {
  return tracer.give_up(BreakReason::ScalarRead, what + " needs the value of a number that the trace does not know");
}

bool is_true(Ref answer) { return answer.is(Py_True); }
Ref ask(PyObject* tensor, const char* question) { return Ref::made(PyObject_CallMethod(tensor, question, nullptr)); }

Ref convert(Tracer& tracer, PyObject* tensor, const Ref& dtype) {
  static PyObject* const to_name = interned("to");
  const Ref values[] = {Ref::borrow(tensor), dtype};
  return record_call(tracer, NodeKind::CallMethod, to_name, Arguments{values});
}

// Compilers compute what has no dimensions anew for each element of what it is used with, but for what other views
// show.
Ref computed_once(Tracer& tracer, PyObject* tensor) {
  static PyObject* const as_strided_name = interned("as_strided");
  const Ref values[] = {Ref::borrow(tensor), Ref::made(PyTuple_New(0)), Ref::made(PyTuple_New(0))};
  return record_call(tracer, NodeKind::CallMethod, as_strided_name, Arguments{values});
}

template <size_t n>
bool is_one_of(string_view name, const string_view (&names)[n]) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

string_view name_of(PyObject* target, Ref& holder) {
  static PyObject* const name = interned("__name__");
  holder = PyUnicode_Check(target) ? Ref::borrow(target) : Ref::steal(PyObject_GetAttr(target, name));
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
  static PyObject* const add_name = interned("add");
  static PyObject* const add_in_place_name = interned("add_");
  const Ref values[] = {Ref::borrow(x), quotient};
  return record_call(tracer, NodeKind::CallMethod, in_place ? add_in_place_name : add_name, Arguments{values});
}

bool is_wide_float(PyObject* tensor) {
  static constinit Imported single{"torch.float32"};
  static PyObject* const dtype_name = interned("dtype");
  const Ref dtype = is_fake(tensor) ? Ref::steal(PyObject_GetAttr(tensor, dtype_name)) : Ref();
  return dtype && (dtype.is(single) || dtype == float64());
}

// torch._foreach_mul_(tensors, numbers): as tensors, each beside its own.
Ref tensors_beside(Tracer& tracer, PyObject* numbers, PyObject* tensors) {
  if (is_traced_number(numbers) && (PyList_CheckExact(tensors) || PyTuple_CheckExact(tensors))) {
    Ref same = Ref::made(PyList_New(PySequence_Fast_GET_SIZE(tensors)));
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(same.get()); ++i)
      PyList_SET_ITEM(same.get(), i, Ref::borrow(numbers).release());
    return tensors_beside(tracer, same.get(), tensors);
  }
  const bool are_lists = (PyList_CheckExact(numbers) || PyTuple_CheckExact(numbers)) &&
                         (PyList_CheckExact(tensors) || PyTuple_CheckExact(tensors)) &&
                         PySequence_Fast_GET_SIZE(numbers) == PySequence_Fast_GET_SIZE(tensors);
  if (!are_lists) return nullptr;
  Ref made = Ref::made(PyList_New(0));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(numbers); ++i) {
    PyObject* tensor = PySequence_Fast_GET_ITEM(tensors, i);
    const Ref beside = is_fake(tensor) ? number_beside(tracer, PySequence_Fast_GET_ITEM(numbers, i), tensor) : Ref();
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
  static constinit Imported multiply{"torch._foreach_mul"};
  static constinit Imported divide{"torch._foreach_div_"};
  static constinit Imported add{"torch._foreach_add_"};
  const std::span<const Ref> values = arguments.values;
  const Ref numbers = tensors_beside(tracer, values[3].get(), values[1].get());
  if (!numbers) return tracer.broken() ? Ref() : refuse(tracer, "_foreach_addcdiv_()");
  const Ref factors[] = {values[1], numbers};
  const Ref scaled = record_call(tracer, NodeKind::CallFunction, multiply, Arguments{factors});
  if (!scaled) return nullptr;
  const Ref parts[] = {scaled, values[2]}, sum[] = {values[0], scaled};
  if (!record_call(tracer, NodeKind::CallFunction, divide, Arguments{parts})) return nullptr;
  return record_call(tracer, NodeKind::CallFunction, add, Arguments{sum});
}

bool is_keyword(const Arguments& arguments, size_t place, const char* name) {
  const size_t count = arguments.positional_count();
  return place >= count && place < arguments.values.size() &&
         !PyUnicode_CompareWithASCIIString(
             PyTuple_GET_ITEM(arguments.keyword_names, static_cast<Py_ssize_t>(place - count)), name);
}

// x.add_(y, alpha=number) and the like: what is recorded in its place reads the number when the graph runs, for a sum
// rounds otherwise where its factor is multiplied in before (minidynamo/_scaled.py).
Ref scaled_sum(Tracer& tracer, NodeKind kind, PyObject* target, PyObject* scaled, const Arguments& arguments) {
  const Arguments plain{arguments.values.first(2)};
  tracer.take_impure();
  const Ref result = execute(tracer, kind, target, plain);
  if (tracer.broken()) return nullptr;
  if (!result) return clear_error(), tracer.give_up(BreakReason::OperatorRaised, target_text(target) + " raised");
  if (!can_be_carried(tracer, target, result.get())) return nullptr;
  const Ref values[] = {plain.values[0], plain.values[1], Ref::borrow(tensor_of_number(arguments.values[2].get()))};
  const bool impure = tracer.take_impure();
  return record_node(tracer, NodeKind::CallFunction, scaled, Arguments{values}, result.get(), impure) ? result : Ref();
}

// torch._fused_adam_(..., lr=number): there are forms that take a tensor.
Ref fused_step(Tracer& tracer, NodeKind kind, PyObject* target, const Arguments& arguments) {
  std::vector<Ref> values(arguments.values.begin(), arguments.values.end());
  for (size_t i = arguments.positional_count(); i < values.size(); ++i)
    if (is_traced_number(values[i].get()) && is_keyword(arguments, i, "lr"))
      values[i] = Ref::borrow(tensor_of_number(values[i].get()));
  const Arguments given{values, arguments.keyword_names};
  return holds_traced_number(given) ? refuse(tracer, target_text(target) + "()")
                                    : record_call(tracer, kind, target, given);
}

}  // namespace

Ref number_binary(Tracer& tracer, const char* operator_name, PyObject* left, PyObject* right) {
  const string_view name = operator_name;
  static constexpr string_view kKnown[] = {"add", "sub", "mul", "truediv", "pow"};
  const string_view plain = name.starts_with('i') ? name.substr(1) : name;
  if (!is_one_of(plain, kKnown)) return refuse(tracer, std::string("operator ") + operator_name);
  // torch divides a number by multiplying it with a reciprocal, and takes some powers by other ways than CPython.
  const bool is_quotient = plain == "truediv", is_power = plain == "pow";
  const Ref left_operand = is_quotient ? as_tensor(tracer, left) : as_operand(left);
  const Ref right_operand = is_power ? as_tensor(tracer, right) : as_operand(right);
  if (tracer.broken()) return nullptr;
  if (!left_operand || !right_operand) return refuse(tracer, std::string("operator ") + operator_name);
  static constinit Imported power{"torch.pow"};
  const Ref operands[] = {left_operand, right_operand};
  Ref result = is_power ? record_call(tracer, NodeKind::CallFunction, power, Arguments{operands})
                        : record_operator(tracer, plain.data(), {left_operand.get(), right_operand.get()});
  return result ? make_traced_number(tracer, std::move(result)) : Ref();
}

Ref number_beside(Tracer& tracer, PyObject* number, PyObject* tensor) {
  const Ref own = as_tensor(tracer, number);
  if (!own) return nullptr;
  const bool is_inexact = is_true(ask(tensor, "is_floating_point")) || is_true(ask(tensor, "is_complex"));
  static PyObject* const dtype_name = interned("dtype");
  if (!is_inexact) {
    static constinit Imported default_dtype{"torch.get_default_dtype"};
    const Ref dtype = Ref::made(PyObject_CallNoArgs(default_dtype));
    return convert(tracer, own.get(), dtype);
  }
  // Beside a tensor with dimensions one without has no say in the dtype.
  if (PyLong_AsLong(ask(tensor, "dim").get()) > 0) return computed_once(tracer, own.get());
  const Ref dtype = Ref::made(PyObject_GetAttr(tensor, dtype_name));
  return dtype == float64() ? own : convert(tracer, own.get(), dtype);
}

bool holds_traced_number(const Arguments& arguments) {
  return std::ranges::any_of(arguments.values,
                             [](const Ref& value) { return any_held(value.get(), is_traced_number); });
}

Ref record_call_with_numbers(Tracer& tracer, NodeKind kind, PyObject* target, const Arguments& arguments) {
  Ref holder;
  const string_view name = name_of(target, holder);
  const std::span<const Ref> values = arguments.values;
  const bool is_addcdiv = name == "addcdiv" || name == "addcdiv_";
  if (is_addcdiv && values.size() == 4 && is_keyword(arguments, 3, "value") && is_traced_number(values[3].get()) &&
      !PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(arguments.keyword_names, 0), "value") &&
      is_wide_float(values[0].get()) && is_wide_float(values[1].get()) && is_wide_float(values[2].get()))
    return addcdiv(tracer, name == "addcdiv_", arguments);
  static constexpr string_view kPairs[] = {"add",  "add_",        "sub",          "sub_",    "mul",
                                           "mul_", "div",         "div_",         "iadd",    "isub",
                                           "imul", "true_divide", "true_divide_", "truediv", "itruediv"};
  static constexpr string_view kLists[] = {"_foreach_add", "_foreach_add_", "_foreach_sub", "_foreach_sub_",
                                           "_foreach_mul", "_foreach_mul_", "_foreach_div", "_foreach_div_"};
  Ref replaced;
  if (values.size() == 2 && !arguments.keyword_names) {
    PyObject *left = values[0].get(), *right = values[1].get();
    const bool is_pair = is_one_of(name, kPairs), is_left = is_traced_number(left);
    if (is_pair && is_left && is_fake(right)) {
      const Ref operands[] = {number_beside(tracer, left, right), values[1]};
      return operands[0] ? record_call(tracer, kind, target, Arguments{operands}) : Ref();
    }
    if (is_pair && is_fake(left) && is_traced_number(right)) replaced = number_beside(tracer, right, left);
    if (is_one_of(name, kLists)) replaced = tensors_beside(tracer, right, left);
    if (tracer.broken()) return nullptr;
    if (replaced) {
      const Ref operands[] = {values[0], replaced};
      return record_call(tracer, kind, target, Arguments{operands});
    }
  }
  if (name.starts_with("_fused_")) return fused_step(tracer, kind, target, arguments);
  if (values.size() == 3 && arguments.positional_count() == 2 && is_keyword(arguments, 2, "alpha") &&
      is_traced_number(values[2].get())) {
    static constinit Imported add{"minidynamo._scaled.add"};
    static constinit Imported add_in_place{"minidynamo._scaled.add_"};
    static constinit Imported foreach_add{"minidynamo._scaled.foreach_add_"};
    const bool are_tensors = is_wide_float(values[0].get()) && is_wide_float(values[1].get());
    if (name == "add" && are_tensors) return scaled_sum(tracer, kind, target, add, arguments);
    if (name == "add_" && are_tensors) return scaled_sum(tracer, kind, target, add_in_place, arguments);
    if (name == "_foreach_add_" && are_wide_floats(values[0].get()) && are_wide_floats(values[1].get()))
      return scaled_sum(tracer, kind, target, foreach_add, arguments);
  }
  if (name == "_foreach_addcdiv_" && values.size() == 4 &&
      (!arguments.keyword_names || is_keyword(arguments, 3, "value")) && are_wide_floats(values[0].get()) &&
      are_wide_floats(values[1].get()) && are_wide_floats(values[2].get()))
    return foreach_addcdiv(tracer, arguments);
  return refuse(tracer, std::string(name) + "()");
}

}  // namespace minidynamo
