#include "tensor/version_counts.h"

#include <torch/csrc/autograd/python_variable.h>

#include "tensor/fake.h"

namespace minidynamo {

std::optional<uint32_t> version_count(PyObject* tensor) noexcept {
  if (!is_tensor(tensor)) return std::nullopt;
  const at::Tensor& value = THPVariable_Unpack(tensor);
  if (!value.defined() || value.is_inference()) return std::nullopt;
  return value.unsafeGetTensorImpl()->version_counter().current_version();
}

void set_version_count(PyObject* tensor, uint32_t count) noexcept {
  c10::VariableVersion shared = THPVariable_Unpack(tensor).unsafeGetTensorImpl()->version_counter();
  shared.set_version(count);
}

}  // namespace minidynamo
