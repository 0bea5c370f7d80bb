// Handlers of rules of kind Handler: what torch has for programs to say, or to ask, of numbers that only the run of the
// graph knows. Of any other number its own Python code is traced.
#include "library/rules/handlers.h"

#include "model/objects/function.h"
#include "model/protocols/abstract.h"
#include "model/protocols/upward.h"
#include "model/proxies/size_operation.h"
#include "python/native_scope.h"
#include "python/process/out_of_memory.h"

namespace minidynamo::handlers {
namespace {

constexpr const char* kOwnWords =
    "Expected cond to be True, but got False. (Could this error message be improved? If so, please report an "
    "enhancement "
    "request to PyTorch.)";

// The graph checks what is not known, and raises the program's own error: it fails, and the frame runs uncaptured,
// where the graph changes nothing; or it says what the program says.
Ref check_truth(Tracer& tracer, SizeCondition condition, PyObject* message) {
  TraceSizes& trace = tracer.symbols.trace();
  if (const std::optional<bool> known = trace.known(condition); known && *known) return Ref::none();
  const bool has_words = message && PyUnicode_CheckExact(message);
  const Ref said = has_words ? Ref::borrow(message) : Ref::made(PyUnicode_FromString(kOwnWords));
  if (!tracer.unbacked_numbers.check_in_graph(condition, said.get(), false))
    return tracer.is_over() ? Ref()
                            : tracer.abort(BreakReason::ScalarRead, "the program checks a number that does not agree");
  trace.add_fact(condition);
  return Ref::none();
}

}  // namespace

// torch._check(condition, message=None)
Ref check_number(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  const std::span<const Ref> values = arguments.values;
  if (values.empty() || values.size() > 2 || !is_unknown_truth(tracer, values[0].get()) ||
      (arguments.keyword_names && arguments.positional_count() == 0))
    return call_function(tracer, callable, arguments);
  Ref message = values.size() == 2 ? values[1] : Ref::none();
  if (!message.is(Py_None) && !PyUnicode_CheckExact(message.get())) message = Ref::none();
  return check_truth(tracer, condition_of(values[0].get()), message.get());
}

// torch._check_with(error_type, condition, message=None)
Ref check_number_with(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  const std::span<const Ref> values = arguments.values;
  if (arguments.keyword_names || values.size() < 2 || !is_unknown_truth(tracer, values[1].get()))
    return call_function(tracer, callable, arguments);
  return check_truth(tracer, condition_of(values[1].get()), nullptr);
}

// torch._check_is_size(number, message=None, *, max=None)
Ref check_is_size(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  const std::span<const Ref> values = arguments.values;
  const bool is_plain = !values.empty() && arguments.positional_count() >= 1 && is_size(tracer, values[0].get()) &&
                        tracer.symbols.trace().is_unknown(expression_of(values[0].get()));
  if (!is_plain) return call_function(tracer, callable, arguments);
  const Expression number = expression_of(values[0].get());
  if (!check_truth(tracer, is_less_equal(constant(0), number), nullptr)) return nullptr;
  for (size_t i = arguments.positional_count(); i < values.size(); ++i) {
    const std::optional<Expression> most = size_expression(tracer, values[i].get());
    if (PyTuple_GET_ITEM(arguments.keyword_names, static_cast<Py_ssize_t>(i - arguments.positional_count())) !=
            "max"_name ||
        !most)
      continue;
    if (!check_truth(tracer, is_less_equal(number, *most), nullptr)) return nullptr;
  }
  return Ref::none();
}

Ref extreme_of_numbers(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  const std::span<const Ref> values = arguments.values;
  const bool is_pair = values.size() == 2 && !arguments.keyword_names;
  const std::optional<Expression> a = is_pair ? size_expression(tracer, values[0].get()) : std::nullopt,
                                  b = is_pair ? size_expression(tracer, values[1].get()) : std::nullopt;
  if (!a || !b || (!is_size(tracer, values[0].get()) && !is_size(tracer, values[1].get())))
    return call_function(tracer, callable, arguments);
  const Ref name = Ref::made(PyObject_GetAttr(callable, "__name__"_name));
  const bool is_least = !PyUnicode_CompareWithASCIIString(name.get(), "sym_min");
  return tracer.symbols.object(is_least ? minimum(*a, *b) : maximum(*a, *b));
}

Ref number_as_int(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (arguments.values.size() == 1)
    if (std::optional<Ref> rounded = size_rounded(tracer, Rounding::Truncate, arguments.values[0].get()))
      return *std::move(rounded);
  return call_function(tracer, callable, arguments);
}

Ref not_of_truth(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (arguments.values.size() != 1 || !is_unknown_truth(tracer, arguments.values[0].get()))
    return call_function(tracer, callable, arguments);
  return opposite_truth(tracer, arguments.values[0].get());
}

// guard_or_false(truth), guard_or_true(truth), statically_known_true(truth), guard_size_oblivious(truth): the program
// says by the first three what it takes where the answer is not known, since either will do.
Ref guard_or(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (arguments.values.size() != 1) return tracer.abort(BreakReason::ScalarRead, "a guard in a form that is not known");
  PyObject* given = arguments.values[0].get();
  const Ref name = Ref::made(PyObject_GetAttr(callable, "__name__"_name));
  const auto is_called = [&](const char* text) { return !PyUnicode_CompareWithASCIIString(name.get(), text); };
  if (is_unknown_truth(tracer, given) && !is_called("guard_size_oblivious") &&
      !tracer.symbols.trace().known(condition_of(given)))
    return Ref::boolean(is_called("guard_or_true"));
  const int answer = truth(tracer, given);
  return answer < 0 ? Ref() : Ref::boolean(answer == 1);
}

}  // namespace minidynamo::handlers
