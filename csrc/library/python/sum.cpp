// sum(). From CPython 3.12 on it keeps the errors of adding floats apart until the end, from 3.14 on those of complex
// numbers as well, so that the sum of some differs from adding one after the other.
#include "library/python/builtins.h"
#include "model/native/native_call.h"
#include "model/protocols/abstract.h"
#include "model/protocols/arguments.h"
#include "python/process/out_of_memory.h"
#include "python/unstable.h"
#include "tensor/symbolic/symbolic_size.h"
#include "world/proxies/runtime_value.h"
#include "world/proxies/symbolic_float.h"

namespace minidynamo::handlers {
namespace {

// Kinds of numbers that sum() adds in loops of its own, one behind the other in this order. All else it adds with the
// operator.
enum class Kind : uint8_t { Int, Float, Complex };

bool is_unknown_float(PyObject* object) noexcept { return is_symbolic_float(object) || is_deferred_number(object); }

// Nullopt: sum() adds nothing to it by itself.
std::optional<Kind> kind_of_total(Tracer& tracer, PyObject* total) noexcept {
  if (PyLong_CheckExact(total) || (tracer.symbols.active() && is_symbolic_int(total))) return Kind::Int;
  if (PyFloat_CheckExact(total) || is_unknown_float(total)) return Kind::Float;
  if (kSumKeepsErrorsOfComplex && PyComplex_CheckExact(total)) return Kind::Complex;
  return std::nullopt;
}

// The kind of an item that is added to a total of a kind. Nullopt: as the operator does, after which sum() asks for the
// total's kind.
std::optional<Kind> kind_of_item(Tracer& tracer, Kind total, PyObject* item) noexcept {
  if (PyBool_Check(item) || (total > Kind::Int && PyLong_Check(item)) ||
      (tracer.symbols.active() && (is_symbolic_int(item) || is_symbolic_bool(item))))
    return Kind::Int;
  if (total == Kind::Complex && PyFloat_Check(item)) return Kind::Float;
  return kind_of_total(tracer, item);
}

// The items that sum() adds by itself, until one is of another kind.
class NumbersOfSum {
 public:
  NumbersOfSum(Tracer& tracer, Ref total, Kind kind)
      : tracer_(tracer), total_(std::move(total)), kind_(kind), is_known_(is_known(total_)) {}

  Kind kind() const { return kind_; }  // the kind of their sum so far

  // False: it is none of these.
  bool take(const Ref& given) {
    // A sum of floats keeps the errors of its additions, which float expressions do not have.
    const bool is_float = tracer_.symbols.active() && is_float_of_sizes(given.get());
    const Ref item = is_float ? tracer_.symbols.specialized(given.get()) : given;
    const std::optional<Kind> kind = kind_of_item(tracer_, kind_, item.get());
    if (!kind) return false;
    is_known_ &= is_known(item);
    keeping_errors_ += kind_ > Kind::Int;
    kind_ = std::max(kind_, *kind);
    numbers_.push_back(item);
    return true;
  }

  // Null: an error, or the trace is given up.
  Ref sum(PyObject* callable) {
    if (numbers_.empty()) return total_;
    if (is_known_) {
      Ref list = Ref::made(PyList_New(0));
      for (const Ref& number : numbers_)
        if (PyList_Append(list.get(), number.get()) < 0) return nullptr;
      return Ref::steal(PyObject_CallFunctionObjArgs(callable, list.get(), total_.get(), nullptr));
    }
    // The error of one addition changes nothing: the result is rounded already.
    if (keeping_errors_ > 1)
      return tracer_.abort(BreakReason::ScalarRead, "sum() adds floats of which the trace does not know all");
    for (const Ref& number : numbers_) {
      total_ = binary_operation(tracer_, kAdd, total_.get(), number.get());
      if (!total_) return nullptr;
    }
    return total_;
  }

  static constexpr int kAdd = 0;

 private:
  bool is_known(const Ref& number) const {
    return !is_unknown_float(number.get()) && !(tracer_.symbols.active() && is_symbolic_number(number.get()));
  }

  Tracer& tracer_;
  Ref total_;
  std::vector<Ref> numbers_;
  Kind kind_;
  bool is_known_;
  size_t keeping_errors_ = 0;  // how many are added to a float or a complex number
};

}  // namespace

Ref builtin_sum(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  const size_t count = arguments.values.size();
  if (count < 1 || count > 2 || arguments.keyword_names) return call_natively(tracer, callable, arguments);
  Ref total = count == 2 ? arguments.values[1] : Ref::made(PyLong_FromLong(0));
  if (PyUnicode_Check(total.get()) || PyBytes_Check(total.get()) || PyByteArray_Check(total.get()))
    return call_natively(tracer, callable, arguments);
  Ref iterator = iterator_of(tracer, arguments.values[0].get());
  if (!iterator) return nullptr;
  Ref item = next_item(tracer, iterator.get());
  std::optional<Kind> reached;
  while (kSumKeepsErrors && item) {
    const std::optional<Kind> kind = kind_of_total(tracer, total.get());
    if (!kind || (reached && *kind <= *reached)) break;
    NumbersOfSum numbers(tracer, std::move(total), *kind);
    while (item && numbers.take(item)) item = next_item(tracer, iterator.get());
    if (tracer.is_over() || PyErr_Occurred()) return nullptr;
    total = numbers.sum(callable);
    if (!total) return nullptr;
    reached = numbers.kind();
    if (!item) break;
    total = binary_operation(tracer, NumbersOfSum::kAdd, total.get(), item.get());
    if (!total) return nullptr;
    item = next_item(tracer, iterator.get());
  }
  for (; item; item = next_item(tracer, iterator.get())) {
    total = binary_operation(tracer, NumbersOfSum::kAdd, total.get(), item.get());
    if (!total) return nullptr;
  }
  return PyErr_Occurred() ? Ref() : total;
}

}  // namespace minidynamo::handlers
