#include "tensor/dispatch/structured_kernels.h"

#include <ATen/MetaFunctions.h>

#include <unordered_map>

namespace minidynamo {
namespace {

template <typename Type>
c10::KernelFunction boxed(Type* function) {
  return c10::KernelFunction::makeFromUnboxedRuntimeFunction(function);
}

class Kernels {
 public:
  Kernels() {
#define TYPE_OF(...) __VA_ARGS__
#define STRUCTURED_KERNEL(name, type, function) \
  by_name_.emplace(name, boxed(static_cast<std::add_pointer_t<TYPE_OF type>>(&function)));
#include "structured_kernels.inc"  // written by cmake/structured_kernels.py
#undef STRUCTURED_KERNEL
#undef TYPE_OF
  }

  const c10::KernelFunction* find(std::string_view name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : &found->second;
  }

 private:
  std::unordered_map<std::string_view, c10::KernelFunction> by_name_;
};

}  // namespace

const c10::KernelFunction* structured_kernel(std::string_view name) {
  // Leaked on purpose: operators may run while the process shuts down.
  static const Kernels* const kernels = new Kernels();
  return kernels->find(name);
}

}  // namespace minidynamo
