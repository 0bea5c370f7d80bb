// Where real kernels give their results other strides than their meta kernels say.
//
// A layout is known where it comes from a structured kernel, which the real kernel begins with; from a rule; or from a
// meta kernel that was compared with the real one over many layouts (verified_layouts.def). Of anything else it is
// known for arguments laid out as usual.
#pragma once
#include "tensor/dispatch/memo.h"

namespace minidynamo {

// The operands of a pointwise operator as its kernel on the CPU converts them to one dtype, before it lays its result
// out: without gaps and repeated elements. Meta kernels convert none. Empty: the kernel converts none that has such.
std::vector<at::Tensor> converted_operands(const OperatorInfo& info, c10::ArrayRef<const at::Tensor*> operands,
                                           const MetadataResult& result);

// Corrects the layout of fresh results in place.
void correct_layouts(const OperatorInfo& info, c10::ArrayRef<c10::IValue> arguments,
                     c10::ArrayRef<const at::Tensor*> tensors, MetadataResult& result);

// True if the real kernel makes the layouts that correct_layouts() leaves. Otherwise only the kernel itself can tell.
bool knows_layouts(const OperatorInfo& info, c10::ArrayRef<c10::IValue> arguments,
                   c10::ArrayRef<const at::Tensor*> tensors, const MetadataResult& result);

}  // namespace minidynamo
