// sum(). From CPython 3.12 on it keeps the errors of adding floats apart until the end, so that the sum of some is not
// what adding one after the other gives.
#include "library/builtins.h"
#include "model/abstract.h"
#include "model/arguments.h"
#include "model/native_call.h"
#include "python/out_of_memory.h"
#include "python/unstable.h"
#include "tensor/symbolic_size.h"
#include "world/deferred_value.h"
#include "world/traced_number.h"

namespace minidynamo::handlers {
namespace {

// Of plain numbers, which sum() adds by itself. It adds all else, and what follows that, as the operator does.
bool is_plain_number(PyObject* object) noexcept {
  return PyLong_CheckExact(object) || PyBool_Check(object) || PyFloat_CheckExact(object);
}

bool is_unknown_float(PyObject* object) noexcept { return is_traced_number(object) || is_deferred_number(object); }

// The items that sum() adds by itself, until one is of another kind.
class NumbersOfSum {
 public:
  NumbersOfSum(Tracer& tracer, PyObject* start) : tracer_(tracer), is_float_(PyFloat_CheckExact(start)) {}

  // False: it is none of these.
  bool take(const Ref& item) {
    const bool is_float = PyFloat_CheckExact(item.get()) || is_unknown_float(item.get());
    const bool is_unknown =
        is_unknown_float(item.get()) || (tracer_.symbols.active() && is_symbolic_number(item.get()));
    if (!is_unknown && !is_plain_number(item.get()) && !(is_float_ && PyLong_Check(item.get()))) return false;
    if (is_unknown && !unknown_) unknown_ = item;
    added_to_float_ += is_float_;
    is_float_ |= is_float;
    numbers_.push_back(item);
    return true;
  }

  // Null: an error, or the trace is given up.
  Ref added_to(PyObject* callable, Ref total) const {
    if (numbers_.empty()) return total;
    if (!unknown_) {
      Ref list = Ref::made(PyList_New(0));
      for (const Ref& number : numbers_)
        if (PyList_Append(list.get(), number.get()) < 0) return nullptr;
      return Ref::steal(PyObject_CallFunctionObjArgs(callable, list.get(), total.get(), nullptr));
    }
    // The error of one addition changes nothing: the result is rounded already.
    if (added_to_float_ > 1)
      return tracer_.abort(BreakReason::ScalarRead, "sum() adds floats of which the trace does not know all");
    for (const Ref& number : numbers_) {
      total = binary_operation(tracer_, kAdd, total.get(), number.get());
      if (!total) return nullptr;
    }
    return total;
  }

  static constexpr int kAdd = 0;

 private:
  Tracer& tracer_;
  std::vector<Ref> numbers_;
  Ref unknown_;
  bool is_float_;              // what they have come to so far
  size_t added_to_float_ = 0;  // how many were added when it was
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
  if (kSumKeepsErrors && (PyLong_CheckExact(total.get()) || PyFloat_CheckExact(total.get()))) {
    NumbersOfSum numbers(tracer, total.get());
    while (item && numbers.take(item)) item = next_item(tracer, iterator.get());
    if (tracer.is_over() || PyErr_Occurred()) return nullptr;
    total = numbers.added_to(callable, std::move(total));
    if (!total) return nullptr;
  }
  for (; item; item = next_item(tracer, iterator.get())) {
    total = binary_operation(tracer, NumbersOfSum::kAdd, total.get(), item.get());
    if (!total) return nullptr;
  }
  return PyErr_Occurred() ? Ref() : total;
}

}  // namespace minidynamo::handlers
