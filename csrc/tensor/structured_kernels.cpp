#include "tensor/structured_kernels.h"

#include <ATen/MetaFunctions.h>

#include <unordered_map>

namespace minidynamo {
namespace {

using Kernels = std::unordered_map<std::string_view, c10::KernelFunction>;

template <typename Type>
c10::KernelFunction boxed(Type* function) {
  return c10::KernelFunction::makeFromUnboxedRuntimeFunction(function);
}

Kernels all_kernels() {
  Kernels kernels;
#define TYPE_OF(...) __VA_ARGS__
#define STRUCTURED_KERNEL(name, type, function) \
  kernels.emplace(name, boxed(static_cast<std::add_pointer_t<TYPE_OF type>>(&function)));
#include "structured_kernels.inc"  // written by cmake/structured_kernels.py
#undef STRUCTURED_KERNEL
#undef TYPE_OF
  return kernels;
}

}  // namespace

const c10::KernelFunction* structured_kernel(std::string_view name) {
  // Leaked on purpose: operators may run while the process shuts down.
  static const Kernels* const kernels = new Kernels(all_kernels());
  const auto found = kernels->find(name);
  return found == kernels->end() ? nullptr : &found->second;
}

}  // namespace minidynamo
