// The memory format of a convolution's results on the CPU: that of the backend that torch chooses for the arguments,
// which must have elements.
#pragma once
#include "tensor/torch_headers.h"

namespace minidynamo {

// `parameters`: stride, padding, dilation, transposed, output_padding, groups.
c10::MemoryFormat convolution_format(const at::Tensor& input, const at::Tensor& weight,
                                     c10::ArrayRef<c10::IValue> parameters);

}  // namespace minidynamo
