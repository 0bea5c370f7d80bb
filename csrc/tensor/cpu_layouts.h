// Where real kernels give their results other strides than their meta kernels say.
#pragma once
#include "tensor/memo.h"

namespace minidynamo {

// Corrects the layout of fresh results in place.
void correct_layouts(const OperatorInfo& info, c10::ArrayRef<c10::IValue> arguments,
                     c10::ArrayRef<const at::Tensor*> tensors, MetadataResult& result);

}  // namespace minidynamo
