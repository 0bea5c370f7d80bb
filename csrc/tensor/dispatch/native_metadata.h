// Rules that compute the metadata of results natively, for operators of which torch has Python kernels
// alone, and which models call often. Such a kernel takes a hundred times longer, and the first one of a process
// imports sympy.
//
// A rule answers for arguments that it knows to be right, on the CPU; for others the Python kernel is asked, whose
// errors are the program's. Strides are those of cpu_layouts.h, which corrects the results.
#pragma once
#include <string_view>

#include "tensor/torch_headers.h"

namespace minidynamo {

struct MetadataResult;  // memo.h

// `tensors` has one for each argument, null where there is none: those that the arguments name may have other sizes.
// False: the arguments are not as the rule knows them.
using NativeMetadata = bool (*)(c10::ArrayRef<c10::IValue> arguments, c10::ArrayRef<const at::Tensor*> tensors,
                                MetadataResult& result);

// For a qualified name with its overload ("aten::convolution"); null: there is no rule.
NativeMetadata native_metadata(std::string_view operator_name) noexcept;

}  // namespace minidynamo
