// The memory layout of what convolutions on the CPU give: that of the backend that torch chooses for the arguments,
// which must have elements.
#pragma once
#include "tensor/memo.h"

namespace minidynamo {

// aten::convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)
void convolution_layout(c10::ArrayRef<c10::IValue> arguments, c10::ArrayRef<const at::Tensor*> tensors,
                        MetadataResult& result);
// aten::convolution_backward(grad_output, input, weight, bias_sizes, stride, ..., groups, output_mask)
void convolution_backward_layout(c10::ArrayRef<c10::IValue> arguments, c10::ArrayRef<const at::Tensor*> tensors,
                                 MetadataResult& result);

}  // namespace minidynamo
