#include "tensor/number_tensor.h"

#include "python/collector.h"
#include "python/out_of_memory.h"

#include <ATen/EmptyTensor.h>
#include <torch/csrc/autograd/python_variable.h>

namespace minidynamo {

Ref tensor_of_float(PyObject* number) noexcept {
  if (!PyFloat_CheckExact(number)) return nullptr;
  const CollectorPaused nothing_else_runs;
  try {
    const c10::InferenceMode plain(false);
    at::Tensor tensor = at::detail::empty_cpu({}, at::kDouble);
    *static_cast<double*>(tensor.mutable_data_ptr()) = PyFloat_AS_DOUBLE(number);
    Ref made = Ref::steal(THPVariable_Wrap(std::move(tensor)));
    if (!made) clear_error();
    return made;
  } catch (...) {
    clear_error();
    return nullptr;
  }
}

}  // namespace minidynamo
