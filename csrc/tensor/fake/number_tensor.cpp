#include "tensor/fake/number_tensor.h"

#include "python/process/collector.h"
#include "python/process/out_of_memory.h"
#include "tensor/fake/tensor_object.h"

#include <ATen/EmptyTensor.h>

namespace minidynamo {

namespace {

template <typename Number>
Ref tensor_of(Number number, at::ScalarType type) noexcept {
  const CollectorPaused nothing_else_runs;
  try {
    const c10::InferenceMode plain(false);
    at::Tensor tensor = at::detail::empty_cpu({}, type);
    *static_cast<Number*>(tensor.mutable_data_ptr()) = number;
    Ref made = wrap_tensor(std::move(tensor));
    if (!made) clear_error();
    return made;
  } catch (...) {
    clear_error();
    return nullptr;
  }
}

}  // namespace

Ref tensor_of_float(PyObject* number) noexcept {
  return PyFloat_CheckExact(number) ? tensor_of<double>(PyFloat_AS_DOUBLE(number), at::kDouble) : Ref();
}

Ref tensor_of_int(PyObject* number) noexcept {
  if (!PyLong_CheckExact(number)) return nullptr;
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(number, &overflow);
  return overflow ? Ref() : tensor_of<int64_t>(value, at::kLong);
}

}  // namespace minidynamo
