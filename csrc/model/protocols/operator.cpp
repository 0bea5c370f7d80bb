// Operators. An operation on a fake becomes a node; a plain read of a shadow stays narrow; everything else is
// CPython's own operation on in-trace objects, whose Python-level special methods come back to the tracer through the
// frame hook.
#include "model/protocols/operator.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

#include "model/native/special_method.h"
#include "model/protocols/abstract.h"
#include "model/protocols/arguments.h"
#include "model/protocols/items_read.h"
#include "model/proxies/deferred_call.h"
#include "model/proxies/number_call.h"
#include "model/proxies/numpy_call.h"
#include "model/proxies/numpy_scalars.h"
#include "model/proxies/size_operation.h"
#include "model/tensors/overridden_call.h"
#include "model/tensors/tensor_call.h"
#include "python/native_method.h"
#include "python/objects/numpy_scalar.h"
#include "python/process/nesting.h"
#include "python/process/out_of_memory.h"
#include "python/version/type_version.h"
#include "tensor/values/known_values.h"
#include "world/external/class_lookup.h"
#include "world/external/container_reads.h"
#include "world/external/types.h"
#include "world/native/address_text.h"
#include "world/native/native_code.h"
#include "world/proxies/fake_array.h"
#include "world/proxies/proxy.h"
#include "world/proxies/runtime_value.h"
#include "world/proxies/symbolic_float.h"
#include "world/state/identity.h"

namespace minidynamo {
namespace {

struct BinaryOperator {
  const char* function;  // in the operator module
  PyObject* (*apply)(PyObject*, PyObject*);
  const char *method, *reflected;
};

PyObject* power(PyObject* left, PyObject* right) { return PyNumber_Power(left, right, Py_None); }
PyObject* inplace_power(PyObject* left, PyObject* right) { return PyNumber_InPlacePower(left, right, Py_None); }

// By CPython's NB_* numbers.
const BinaryOperator kBinaryOperators[] = {
    {"add", PyNumber_Add, "__add__", "__radd__"},
    {"and_", PyNumber_And, "__and__", "__rand__"},
    {"floordiv", PyNumber_FloorDivide, "__floordiv__", "__rfloordiv__"},
    {"lshift", PyNumber_Lshift, "__lshift__", "__rlshift__"},
    {"matmul", PyNumber_MatrixMultiply, "__matmul__", "__rmatmul__"},
    {"mul", PyNumber_Multiply, "__mul__", "__rmul__"},
    {"mod", PyNumber_Remainder, "__mod__", "__rmod__"},
    {"or_", PyNumber_Or, "__or__", "__ror__"},
    {"pow", power, "__pow__", "__rpow__"},
    {"rshift", PyNumber_Rshift, "__rshift__", "__rrshift__"},
    {"sub", PyNumber_Subtract, "__sub__", "__rsub__"},
    {"truediv", PyNumber_TrueDivide, "__truediv__", "__rtruediv__"},
    {"xor", PyNumber_Xor, "__xor__", "__rxor__"},
    {"iadd", PyNumber_InPlaceAdd, "__iadd__", "__radd__"},
    {"iand", PyNumber_InPlaceAnd, "__iand__", "__rand__"},
    {"ifloordiv", PyNumber_InPlaceFloorDivide, "__ifloordiv__", "__rfloordiv__"},
    {"ilshift", PyNumber_InPlaceLshift, "__ilshift__", "__rlshift__"},
    {"imatmul", PyNumber_InPlaceMatrixMultiply, "__imatmul__", "__rmatmul__"},
    {"imul", PyNumber_InPlaceMultiply, "__imul__", "__rmul__"},
    {"imod", PyNumber_InPlaceRemainder, "__imod__", "__rmod__"},
    {"ior", PyNumber_InPlaceOr, "__ior__", "__ror__"},
    {"ipow", inplace_power, "__ipow__", "__rpow__"},
    {"irshift", PyNumber_InPlaceRshift, "__irshift__", "__rrshift__"},
    {"isub", PyNumber_InPlaceSubtract, "__isub__", "__rsub__"},
    {"itruediv", PyNumber_InPlaceTrueDivide, "__itruediv__", "__rtruediv__"},
    {"ixor", PyNumber_InPlaceXor, "__ixor__", "__rxor__"},
};

const char* const kComparisonFunctions[] = {"lt", "le", "eq", "ne", "gt", "ge"};
const char* const kComparisonMethods[] = {"__lt__", "__le__", "__eq__", "__ne__", "__gt__", "__ge__"};
constexpr int kReflectedComparison[] = {Py_GT, Py_GE, Py_EQ, Py_NE, Py_LT, Py_LE};

}  // namespace

int binary_operator_named(const char* name) noexcept {
  for (size_t i = 0; i < std::size(kBinaryOperators); ++i)
    if (!std::strcmp(kBinaryOperators[i].function, name)) return static_cast<int>(i);
  return -1;
}

int comparison_named(const char* name) noexcept {
  for (size_t i = 0; i < std::size(kComparisonFunctions); ++i)
    if (!std::strcmp(kComparisonFunctions[i], name)) return static_cast<int>(i);
  return -1;
}

namespace {

// torch takes NumPy's numbers for Python's; of a complex one that is none of Python's, it takes the real part.
Ref number_beside_tensor(PyObject* object) {
  Ref number = is_numpy_scalar(object) ? python_number(object) : Ref();
  if (number && PyComplex_Check(number.get()) && !PyComplex_Check(object)) number = Ref::borrow(object);
  return number || PyErr_Occurred() ? number : Ref::borrow(object);
}

bool is_dtype_of_tensor_kept(PyObject* tensor, PyObject* scalar) {
  auto is = [](PyObject* object, const char* method) {
    const Ref answer = Ref::steal(PyObject_CallMethod(object, method, nullptr));
    clear_error();
    return answer.is(Py_True);
  };
  const Ref dimensions = call_native_method(tensor, "dim");
  if (!dimensions || PyLong_AsLong(dimensions.get()) < 1 || is(scalar, "is_complex")) return clear_error(), false;
  return is(tensor, "is_floating_point") || is(tensor, "is_complex") || !is(scalar, "is_floating_point");
}

// An operator that a tensor's class has a method of its own for. Nothing: it has not.
std::optional<Ref> by_own_method(Tracer& tracer, const char* name, PyObject* left, const char* method, PyObject* right,
                                 const char* reflected) {
  const Ref of_left = own_tensor_method(tracer, left, method);
  const Ref of_right = own_tensor_method(tracer, right, reflected);
  if (tracer.is_over()) return Ref();
  if (!of_left && !of_right) return std::nullopt;
  // The right operand's method comes first if its class is a subclass of the left operand's.
  const bool is_right_first =
      of_right && Py_TYPE(left) != Py_TYPE(right) && PyType_IsSubtype(Py_TYPE(right), Py_TYPE(left));
  Ref result;
  if (is_right_first)
    result = call(tracer, of_right.get(), {Ref::borrow(right), Ref::borrow(left)});
  else if (!of_left && is_number(left))  // a number does not know tensors
    result = call(tracer, of_right.get(), {Ref::borrow(right), Ref::borrow(left)});
  else if (of_left)
    result = call(tracer, of_left.get(), {Ref::borrow(left), Ref::borrow(right)});
  if (result && !result.is(Py_NotImplemented)) return result;
  if (!result && PyErr_Occurred()) return Ref();
  return Ref(tracer.abort(
      BreakReason::UnsupportedOperand,
      std::string("operator ") + name + " between " + Py_TYPE(left)->tp_name + " and " + Py_TYPE(right)->tp_name));
}

// True for operands that may stand beside a tensor in an operator that runs natively as one node.
bool combines_with_tensor(PyObject* object) {
  return is_fake(object) || is_constant(object) || is_symbolic_int_or_float(object) || PyLong_Check(object) ||
         PyFloat_Check(object) || PyList_CheckExact(object) || PyTuple_Check(object) || PySlice_Check(object);
}

// A tensor and an array: NumPy computes, and torch makes a tensor of NumPy's result. A scalar is a number to torch, as
// a tensor without dimensions is where it does not change the result's dtype.
Ref tensor_and_array(Tracer& tracer, int number, PyObject* tensor, PyObject* array) {
  constexpr int kOperators = std::size(kBinaryOperators) / 2;
  if (is_traced_scalar(array)) {
    if (is_dtype_of_tensor_kept(tensor, elements_of_array(array)))
      return record_operator(tracer, kBinaryOperators[number].function, {tensor, elements_of_array(array)});
  } else if (number < kOperators) {
    const Ref left = array_of_fake(tracer, tensor);
    const Ref result = left ? binary_operation(tracer, number, left.get(), array) : Ref();
    if (!result || is_fake_array(result.get())) return result ? tensor_of_array(tracer, result.get(), true) : Ref();
  }
  return tracer.abort(BreakReason::UnsupportedOperand, std::string("operator ") + kBinaryOperators[number].function +
                                                           " between a tensor and a numpy array");
}

}  // namespace

namespace {

// The truth that bool() returns for the result of a __bool__.
int checked_truth(const Ref& given) {
  if (!given || PyBool_Check(given.get())) return given ? given.is(Py_True) : -1;
  PyErr_Format(PyExc_TypeError, "__bool__ should return bool, returned %s", given.type()->tp_name);
  return -1;
}

int tensor_truth(Tracer& tracer, PyObject* tensor) {
  if (const auto answer = overridden_method(tracer, "__bool__", {Ref::borrow(tensor)})) return checked_truth(*answer);
  if (const Ref value = known_value(tensor)) {
    const TensorTraceSuspended suspended;
    return PyObject_IsTrue(value.get());
  }
  if (PyErr_Occurred()) return -1;
  tracer.abort(BreakReason::DataDependentBranch, "the program branches on the value of a tensor");
  return -1;
}

int number_truth(Tracer& tracer, PyObject* number) {
  if (const auto answer = compare_number(tracer, number, Py_NE, 0)) return *answer;
  const Ref value = value_of_number(tracer, number);
  return value ? PyFloat_AS_DOUBLE(value.get()) != 0 : -1;
}

}  // namespace

int truth(Tracer& tracer, PyObject* object) {
  if (object == Py_True) return 1;
  if (object == Py_False || object == Py_None) return 0;
  switch (proxy_kind(object)) {
    case ProxyKind::Tensor:
      return tensor_truth(tracer, object);
    case ProxyKind::Array:
      return truth(tracer, elements_of_array(object));
    case ProxyKind::Int:
      if (is_size(tracer, object)) return size_truth(tracer, object);
      break;
    case ProxyKind::FloatOfSizes:
      if (tracer.symbols.active()) return float_truth(tracer, object);
      break;
    case ProxyKind::Bool:
      if (is_unknown_truth(tracer, object)) return tracer.symbols.trace().ask(condition_of(object));
      break;
    case ProxyKind::Float:
      return number_truth(tracer, object);
    case ProxyKind::RuntimeNumber:
    case ProxyKind::RuntimeText:
    case ProxyKind::None:
      break;
  }
  if (tracer.world.is_opaque(object)) return use_opaque(tracer, object), -1;
  ShadowContainer* shadow = tracer.world.shadow(object);
  if (shadow && tells_length(tracer, *shadow)) return length_of_shadow(tracer, *shadow) != 0;
  guard_special_methods(tracer, object);
  PyTypeObject* type = Py_TYPE(object);
  const bool is_always_true = !(type->tp_as_number && type->tp_as_number->nb_bool) &&
                              !(type->tp_as_mapping && type->tp_as_mapping->mp_length) &&
                              !(type->tp_as_sequence && type->tp_as_sequence->sq_length);
  if (is_always_true) return 1;
  if (object == Py_NotImplemented) {
    const WarningTrap trap;
    const int is_true = PyObject_IsTrue(object);
    return gave_no_warning(tracer, trap, "the truth of NotImplemented") ? is_true : -1;
  }
  if (!prepare_for_native(tracer, object, SetOrder::Ignored)) return -1;
  const int is_true = PyObject_IsTrue(object);
  return tracer.is_over() ? -1 : is_true;
}

Ref unary_operation(Tracer& tracer, Op op, PyObject* given) {
  Ref held;
  PyObject* operand = given;
  if (tracer.symbols.may_have_symbols()) {
    held = Ref::borrow(given);
    if (std::optional<Ref> result = size_unary(tracer, op, held)) return *result;
    operand = held.get();
  }
  if (const Ref method = own_tensor_method(tracer, operand,
                                           op == Op::UNARY_NEGATIVE   ? "__neg__"
                                           : op == Op::UNARY_POSITIVE ? "__pos__"
                                                                      : "__invert__"))
    return call(tracer, method.get(), {Ref::borrow(operand)});
  if (tracer.is_over()) return nullptr;
  switch (proxy_kind(operand)) {
    case ProxyKind::Tensor:
      return record_operator(tracer,
                             op == Op::UNARY_NEGATIVE   ? "neg"
                             : op == Op::UNARY_POSITIVE ? "pos"
                                                        : "invert",
                             {operand});
    case ProxyKind::Array:
      return array_unary(tracer, op, operand);
    case ProxyKind::Float:
      if (op == Op::UNARY_NEGATIVE) return number_negative(tracer, operand);
      if (op == Op::UNARY_POSITIVE) return Ref::borrow(operand);
      break;
    case ProxyKind::Int:
    case ProxyKind::FloatOfSizes:
    case ProxyKind::Bool:
    case ProxyKind::RuntimeNumber:
    case ProxyKind::RuntimeText:
    case ProxyKind::None:
      break;
  }
  if (!prepare_for_native(tracer, operand)) return nullptr;
  guard_special_methods(tracer, operand);
  if (tracer.is_over()) return nullptr;
  if (op == Op::UNARY_NEGATIVE) return adopt_result(tracer, Ref::steal(PyNumber_Negative(operand)));
  if (op == Op::UNARY_POSITIVE) return adopt_result(tracer, Ref::steal(PyNumber_Positive(operand)));
  if (PyBool_Check(operand)) {
    const WarningTrap trap;
    Ref inverted = Ref::steal(PyNumber_Invert(operand));
    return gave_no_warning(tracer, trap, "the inversion of a bool") ? std::move(inverted) : Ref();
  }
  return adopt_result(tracer, Ref::steal(PyNumber_Invert(operand)));
}

namespace {

Ref with_array(Tracer& tracer, const BinaryOperator& binary, PyObject* left, PyObject* right) {
  constexpr int kOperators = std::size(kBinaryOperators) / 2;  // then those in place
  const char* const plain = kBinaryOperators[(&binary - kBinaryOperators) % kOperators].method;
  return array_binary(tracer, {binary.apply, binary.method, plain, binary.reflected}, left, right);
}

Ref with_tensor(Tracer& tracer, const BinaryOperator& binary, PyObject* left, PyObject* right) {
  const Ref left_number = number_beside_tensor(left), right_number = number_beside_tensor(right);
  if (!left_number || !right_number) return nullptr;
  left = left_number.get(), right = right_number.get();
  if (auto result = by_own_method(tracer, binary.function, left, binary.method, right, binary.reflected))
    return std::move(*result);
  if (combines_with_tensor(left) && combines_with_tensor(right))
    return record_operator(tracer, binary.function, {left, right});
  // The other operand's class may decide; its methods are traced if they are Python.
  if (Ref method = python_method(tracer, left, binary.method); method && !is_fake(left)) {
    Ref result = call(tracer, method.get(), {Ref::borrow(left), Ref::borrow(right)});
    if (!result || !result.is(Py_NotImplemented)) return result;
  }
  if (Ref method = python_method(tracer, right, binary.reflected); method && !is_fake(right)) {
    Ref result = call(tracer, method.get(), {Ref::borrow(right), Ref::borrow(left)});
    if (!result || !result.is(Py_NotImplemented)) return result;
  }
  if (tracer.is_over()) return nullptr;
  return tracer.abort(BreakReason::UnsupportedOperand, std::string("operator ") + binary.function + " between " +
                                                           Py_TYPE(left)->tp_name + " and " + Py_TYPE(right)->tp_name);
}

Ref compare_with_tensor(Tracer& tracer, int comparison, PyObject* left, PyObject* right) {
  const Ref left_number = number_beside_tensor(left), right_number = number_beside_tensor(right);
  if (!left_number || !right_number) return nullptr;
  left = left_number.get(), right = right_number.get();
  if (auto result = by_own_method(tracer, kComparisonFunctions[comparison], left, kComparisonMethods[comparison], right,
                                  kComparisonMethods[kReflectedComparison[comparison]]))
    return std::move(*result);
  if (!combines_with_tensor(left) || !combines_with_tensor(right))
    return tracer.abort(BreakReason::UnsupportedOperand, std::string("comparison between ") + Py_TYPE(left)->tp_name +
                                                             " and " + Py_TYPE(right)->tp_name);
  return record_operator(tracer, kComparisonFunctions[comparison], {left, right});
}

}  // namespace

Ref binary_operation(Tracer& tracer, int number, PyObject* left, PyObject* right) {
  const BinaryOperator& binary = kBinaryOperators[number];
  if (is_number(left) && is_number(right)) return Ref::steal(binary.apply(left, right));
  Ref held_left, held_right;
  if (tracer.symbols.may_have_symbols()) {
    held_left = Ref::borrow(left), held_right = Ref::borrow(right);
    if (std::optional<Ref> result = size_binary(tracer, number, held_left, held_right)) return *result;
    left = held_left.get(), right = held_right.get();
  }
  switch (proxy_kind(left, right)) {
    case ProxyKind::Array:
      return is_fake(left) ? tensor_and_array(tracer, number, left, right) : with_array(tracer, binary, left, right);
    case ProxyKind::RuntimeNumber:
    case ProxyKind::RuntimeText:
      return deferred_binary(tracer, binary.function, left, right);
    case ProxyKind::Float:
      if (is_fake(left) || is_fake(right)) return record_operator(tracer, binary.function, {left, right});
      return number_binary(tracer, binary.function, left, right);
    case ProxyKind::Tensor:
      return with_tensor(tracer, binary, left, right);
    case ProxyKind::Int:
    case ProxyKind::FloatOfSizes:
    case ProxyKind::Bool:
    case ProxyKind::None:
      if (formats_runtime_values(left, right)) return deferred_binary(tracer, binary.function, left, right);
      break;
  }
  if (binary.apply == PyNumber_InPlaceAdd && PyList_CheckExact(left))
    if (const std::optional<bool> done = extend_by(tracer, left, right)) return *done ? Ref::borrow(left) : Ref();
  Ref pairs;
  if (binary.apply == PyNumber_InPlaceOr && PyDict_Check(left)) {
    pairs = prepare_items(tracer, right);
    if (!pairs) return nullptr;
    right = pairs.get();
  }
  // Operators between sets make sets; `list += set` reads one.
  const SetOrder order = is_set(left) || PyDictViewSet_Check(left) ? SetOrder::Ignored : SetOrder::Read;
  if (!prepare_for_native(tracer, left, order) || !prepare_for_native(tracer, right, order)) return nullptr;
  constexpr int kRemainder = 6;
  if (number == kRemainder && PyUnicode_Check(left) && PyTuple_Check(right))  // their text is taken
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(right); ++i)
      if (!prepare_for_native(tracer, PyTuple_GET_ITEM(right, i))) return nullptr;
  if (number == kRemainder && (PyUnicode_Check(left) || PyBytes_Check(left)) && !can_show(tracer, right))
    return nullptr;
  guard_special_methods(tracer, left);
  guard_special_methods(tracer, right);
  if (tracer.is_over()) return nullptr;
  if (const Ref operands[] = {Ref::borrow(left), Ref::borrow(right)}; are_scalars(Arguments{operands}, true))
    return compute_with_scalars(tracer, [&] { return Ref::steal(binary.apply(left, right)); });
  return adopt_result(tracer, Ref::steal(binary.apply(left, right)));
}

Ref compare(Tracer& tracer, int comparison, PyObject* left, PyObject* right) {
  if (is_number(left) && is_number(right)) return Ref::steal(PyObject_RichCompare(left, right, comparison));
  Ref held_left, held_right;
  if (tracer.symbols.may_have_symbols()) {
    held_left = Ref::borrow(left), held_right = Ref::borrow(right);
    if (std::optional<Ref> result = size_compare(tracer, comparison, held_left, held_right)) return *result;
    left = held_left.get(), right = held_right.get();
  }
  switch (proxy_kind(left, right)) {
    case ProxyKind::Array:
      if (is_fake(left) && is_traced_scalar(right) && is_dtype_of_tensor_kept(left, elements_of_array(right)))
        return record_operator(tracer, kComparisonFunctions[comparison], {left, elements_of_array(right)});
      return array_compare(tracer, comparison, left, right);
    case ProxyKind::RuntimeNumber:
    case ProxyKind::RuntimeText:
      return tracer.abort(BreakReason::DataDependentBranch, "a number that the trace does not know is compared");
    case ProxyKind::Float:
      if (is_fake(left) || is_fake(right))
        return record_operator(tracer, kComparisonFunctions[comparison], {left, right});
      return number_compare(tracer, comparison, left, right);
    case ProxyKind::Tensor:
      return compare_with_tensor(tracer, comparison, left, right);
    case ProxyKind::Int:
    case ProxyKind::FloatOfSizes:
    case ProxyKind::Bool:
    case ProxyKind::None:
      break;
  }
  if (!prepare_for_native(tracer, left, SetOrder::Ignored) || !prepare_for_native(tracer, right, SetOrder::Ignored))
    return nullptr;
  guard_special_methods(tracer, left);
  guard_special_methods(tracer, right);
  if (identity_behind(left) || identity_behind(right)) {  // bound methods, weak references
    for (PyObject* side : {left, right})
      if (PyWeakref_Check(side) && identity_behind(side)) guard_special_methods(tracer, identity_behind(side));
    require_distinct(tracer, left);
    require_distinct(tracer, right);
  }
  if (holds_objects(left) && holds_objects(right)) {
    require_distinct(tracer, left);
    require_distinct(tracer, right);
  } else {
    guard_different(tracer, left, right);
  }
  if (tracer.is_over()) return nullptr;
  return adopt_result(tracer, Ref::steal(PyObject_RichCompare(left, right, comparison)));
}

Ref is_same(Tracer& tracer, PyObject* left, PyObject* right) {
  const auto may_differ = [&](PyObject* object) {
    return stands_for_number(tracer, object) || is_symbolic_float(object);
  };
  if (may_differ(left) || may_differ(right)) {
    if (left == Py_None || right == Py_None) return Ref::boolean(false);
    const Ref a = specialized(tracer, left), b = specialized(tracer, right);
    return a && b ? Ref::boolean(a.is(b.get())) : Ref();
  }
  guard_different(tracer, left, right);
  return Ref::boolean(left == right);
}

}  // namespace minidynamo
