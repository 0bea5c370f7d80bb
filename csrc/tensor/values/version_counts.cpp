#include "tensor/values/version_counts.h"

#include <cstring>

#include "tensor/fake/fake.h"
#include "tensor/fake/tensor_object.h"

namespace minidynamo {

std::optional<uint32_t> version_count(PyObject* tensor) noexcept {
  if (!is_tensor(tensor)) return std::nullopt;
  const at::Tensor& value = unpack_tensor(tensor);
  if (!value.defined() || value.is_inference()) return std::nullopt;
  return value.unsafeGetTensorImpl()->version_counter().current_version();
}

void set_version_count(PyObject* tensor, uint32_t count) noexcept {
  c10::VariableVersion shared = unpack_tensor(tensor).unsafeGetTensorImpl()->version_counter();
  shared.set_version(count);
}

const void* version_counter(PyObject* tensor) noexcept {
  if (!version_count(tensor)) return nullptr;
  const c10::VariableVersion& holder = unpack_tensor(tensor).unsafeGetTensorImpl()->version_counter();
  const void* counter;  // a VariableVersion is this pointer, and has no accessor for it
  static_assert(sizeof holder == sizeof counter);
  std::memcpy(&counter, &holder, sizeof counter);
  return counter;
}

void share_version_counter(PyObject* tensor, PyObject* other) noexcept {
  unpack_tensor(tensor).unsafeGetTensorImpl()->set_version_counter(
      unpack_tensor(other).unsafeGetTensorImpl()->version_counter());
}

}  // namespace minidynamo
