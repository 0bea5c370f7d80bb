#include "model/tensors/tensor_items.h"

#include "model/native/special_method.h"
#include "model/protocols/abstract.h"
#include "model/proxies/size_operation.h"
#include "model/tensors/overridden_call.h"
#include "model/tensors/tensor_call.h"
#include "model/tensors/tensor_index.h"
#include "tensor/values/known_values.h"
#include "world/external/enter.h"
#include "world/external/types.h"
#include "world/native/native_code.h"

namespace minidynamo {
namespace {

// A size stays symbolic in a key; a float of sizes is none that torch would take.
Ref key_of_tensor(Tracer& tracer, PyObject* key) {
  return is_size_float(tracer, key) ? specialized(tracer, key) : Ref::borrow(key);
}

}  // namespace

int tensor_contains(Tracer& tracer, PyObject* tensor, PyObject* item) {
  if (const auto answer = overridden_method(tracer, "__contains__", {Ref::borrow(tensor), Ref::borrow(item)}))
    return *answer ? truth(tracer, answer->get()) : -1;
  const Ref values = is_number(item) ? known_value(tensor) : Ref();
  if (values) {
    NativeScope native;
    const TensorTraceSuspended suspended;
    return PySequence_Contains(values.get(), item);
  }
  if (PyErr_Occurred()) return -1;
  tracer.abort(BreakReason::DataDependent, "`in` looks at the values of a tensor");
  return -1;
}

Ref tensor_subscript(Tracer& tracer, PyObject* tensor, PyObject* given) {
  const Ref key = key_of_tensor(tracer, given);
  if (!key) return nullptr;
  if (const Ref method = own_tensor_method(tracer, tensor, "__getitem__"))
    return call(tracer, method.get(), {Ref::borrow(tensor), key});
  const Ref index = tracer.is_over() ? Ref() : tensor_index(tracer, key.get());
  if (!index) return nullptr;
  if (const auto selected = select_symbolic(tracer, tensor, index.get())) {
    if (!selected->tensor || !selected->rest) return selected->tensor;
    return record_operator(tracer, "getitem", {selected->tensor.get(), selected->rest.get()});
  }
  return record_operator(tracer, "getitem", {tensor, index.get()});
}

bool store_tensor_subscript(Tracer& tracer, PyObject* tensor, PyObject* given, PyObject* value) {
  const Ref key = key_of_tensor(tracer, given);
  if (!key || (value && !materialize_if_shadow(tracer, value)) ||
      !prepare_for_native(tracer, key.get(), SetOrder::Ignored))
    return false;
  if (const Ref method = own_tensor_method(tracer, tensor, value ? "__setitem__" : "__delitem__")) {
    const Ref operands[] = {Ref::borrow(tensor), key, Ref::borrow(value)};
    return static_cast<bool>(call(tracer, method.get(), Arguments{std::span<const Ref>(operands, value ? 3 : 2)}));
  }
  if (tracer.is_over()) return false;
  if (!value) return tracer.abort(BreakReason::UnsupportedOperand, "del of a tensor's item") != nullptr;
  const Ref index = tensor_index(tracer, key.get());
  if (!index) return false;
  if (const auto selected = select_symbolic(tracer, tensor, index.get())) {
    PyObject* rest = selected->rest ? selected->rest.get() : Py_Ellipsis;
    return selected->tensor && record_operator(tracer, "setitem", {selected->tensor.get(), rest, value});
  }
  return static_cast<bool>(record_operator(tracer, "setitem", {tensor, index.get(), value}));
}

Ref tensor_length(Tracer& tracer, PyObject* tensor) {
  if (auto answer = overridden_method(tracer, "__len__", {Ref::borrow(tensor)}))
    return *answer ? checked_length(std::move(*answer)) : Ref();
  if (tracer.symbols.active() && has_symbolic_sizes(tensor)) {
    const Ref size = Ref::steal(PyObject_CallMethod(tensor, "size", "i", 0));
    if (size || !PyErr_ExceptionMatches(PyExc_IndexError)) return size;
    clear_error();  // without dimensions, for which len() has words of its own
  }
  const Py_ssize_t size = PyObject_Size(tensor);
  return size < 0 || tracer.is_over() ? Ref() : Ref::made(PyLong_FromSsize_t(size));
}

Ref iterator_of_tensor(Tracer& tracer, PyObject* tensor) {
  if (auto answer = overridden_method(tracer, "__iter__", {Ref::borrow(tensor)})) return std::move(*answer);
  const Ref self = Ref::borrow(tensor);
  const Ref parts = record_call(tracer, NodeKind::CallMethod, "unbind"_name, Arguments{std::span<const Ref>(&self, 1)});
  return parts ? Ref::steal(PyObject_GetIter(parts.get())) : Ref();
}

}  // namespace minidynamo
