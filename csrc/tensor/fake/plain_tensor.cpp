#include "tensor/fake/plain_tensor.h"

#include "python/process/collector.h"
#include "python/process/out_of_memory.h"
#include "tensor/fake/fake.h"
#include "tensor/fake/tensor_object.h"

namespace minidynamo {

Ref plain_tensor(PyObject* object) noexcept {
  const CollectorPaused nothing_else_runs;
  if (!is_tensor(object)) return nullptr;
  try {
    const at::Tensor& tensor = unpack_tensor(object);
    if (tensor.key_set().has(c10::DispatchKey::Python)) return nullptr;
    const c10::AutoGradMode with_history(true);
    return wrap_tensor(tensor.alias());
  } catch (...) {
    clear_error();
    return nullptr;
  }
}

}  // namespace minidynamo
