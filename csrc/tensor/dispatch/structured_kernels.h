// torch's own C++ function for the metadata of an operator's results, where it has one.
//
// Structured operators begin with it on every device, so sizes, strides and dtypes are those of the real kernel. The
// dispatcher's Meta key answers by Python code for many of the same operators: a hundred times slower, and with other
// strides where sizes are 0 or 1.
#pragma once
#include <string_view>

#include "tensor/torch_headers.h"

namespace minidynamo {

// For a qualified name with its overload ("aten::add.Tensor"); null: the operator has none, or writes to `out`.
const c10::KernelFunction* structured_kernel(std::string_view name);

}  // namespace minidynamo
