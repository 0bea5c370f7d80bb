#include "tensor/plain_tensor.h"

#include "python/collector.h"
#include "python/out_of_memory.h"
#include "tensor/fake.h"

#include <torch/csrc/autograd/python_variable.h>

namespace minidynamo {

Ref plain_tensor(PyObject* object) noexcept {
  const CollectorPaused nothing_else_runs;
  if (!is_tensor(object)) return nullptr;
  try {
    const at::Tensor& tensor = THPVariable_Unpack(object);
    if (tensor.key_set().has(c10::DispatchKey::Python)) return nullptr;
    const c10::AutoGradMode with_history(true);
    return Ref::steal(THPVariable_Wrap(tensor.alias()));
  } catch (...) {
    clear_error();
    return nullptr;
  }
}

}  // namespace minidynamo
