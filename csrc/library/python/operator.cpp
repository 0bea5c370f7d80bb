#include "library/python/operator.h"

#include <optional>
#include <string_view>

#include "model/native/native_call.h"
#include "model/protocols/abstract.h"
#include "model/protocols/arguments.h"
#include "model/protocols/operator.h"
#include "model/tensors/tensor_call.h"
#include "world/external/external_iterator.h"
#include "world/native/native_code.h"
#include "world/state/identity.h"

namespace minidynamo {
namespace {

Ref as_boolean(int answer) { return answer < 0 ? Ref() : Ref::boolean(answer == 1); }

// Nothing: the function is no operator of one operand.
std::optional<Ref> with_one(Tracer& tracer, std::string_view name, PyObject* operand) {
  if (name == "neg") return unary_operation(tracer, Op::UNARY_NEGATIVE, operand);
  if (name == "pos") return unary_operation(tracer, Op::UNARY_POSITIVE, operand);
  if (name == "inv" || name == "invert") return unary_operation(tracer, Op::UNARY_INVERT, operand);
  if (name == "truth") return as_boolean(truth(tracer, operand));
  if (name == "not_") {
    const int is_true = truth(tracer, operand);
    return is_true < 0 ? Ref() : Ref::boolean(is_true == 0);
  }
  return std::nullopt;
}

std::optional<Ref> with_two(Tracer& tracer, const char* text, PyObject* left, PyObject* right) {
  const std::string_view name = text;
  if (name == "getitem") return subscript(tracer, left, right);
  if (name == "delitem") return store_subscript(tracer, left, right, nullptr) ? Ref::none() : Ref();
  if (name == "contains") return as_boolean(contains(tracer, left, right));
  if (name == "is_") return is_same(tracer, left, right);
  if (name == "is_not") return Ref::boolean(is_same(tracer, left, right).is(Py_False));
  if (const int comparison = comparison_named(text); comparison >= 0) return compare(tracer, comparison, left, right);
  if (const int number = binary_operator_named(text); number >= 0) return binary_operation(tracer, number, left, right);
  return std::nullopt;
}

}  // namespace

namespace {

// C code would ask the trace's own stand-in for an iterator from before the call, which has no length.
Ref length_hint_of_iterator(Tracer& tracer, PyObject* iterator, const Arguments& arguments) {
  const Ref method = load_attribute(tracer, iterator, "__length_hint__"_name);
  if (method) return call(tracer, method.get(), {});
  if (tracer.is_over() || !PyErr_ExceptionMatches(PyExc_AttributeError)) return nullptr;
  clear_error();
  return arguments.values.size() > 1 ? arguments.values[1] : Ref::made(PyLong_FromLong(0));
}

}  // namespace

Ref call_operator(Tracer& tracer, PyObject* function, const Arguments& arguments) {
  const char* name = PyCFunction_Check(function) ? as_builtin(function)->m_ml->ml_name : nullptr;
  const size_t count = arguments.keyword_names ? 0 : arguments.values.size();
  auto operand = [&](size_t i) { return arguments.values[i].get(); };
  if (name && count > 0) {
    if (count == 3 && std::string_view(name) == "setitem")
      return store_subscript(tracer, operand(0), operand(1), operand(2)) ? Ref::none() : Ref();
    if (std::string_view(name) == "length_hint" && is_outside_iterator(operand(0)))
      return length_hint_of_iterator(tracer, operand(0), arguments);
    std::optional<Ref> result;
    if (count == 1) result = with_one(tracer, name, operand(0));
    if (count == 2) result = with_two(tracer, name, operand(0), operand(1));
    if (result) return *result;
    if (std::string_view(name) == "call")
      return call(tracer, operand(0), Arguments{arguments.values.subspan(1), arguments.keyword_names});
  }
  if (has_fake(arguments)) return record_call(tracer, NodeKind::CallFunction, function, arguments);
  if (!expose_all(tracer, arguments.values, SetOrder::Ignored)) return nullptr;
  for (const Ref& value : arguments.values) require_distinct(tracer, value.get());
  return call_natively(tracer, function, arguments);
}

}  // namespace minidynamo
