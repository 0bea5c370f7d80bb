// Results of operators whose sizes depend on the values of a tensor: symbols for numbers that only the run of the graph
// knows (size/trace_sizes.h).
#pragma once
#include <functional>

#include "tensor/dispatch/memo.h"

namespace minidynamo {

using NewUnknownSize = std::function<std::optional<Expression>(SizeRange, const at::Tensor* elements_of)>;

// `new_size`: a symbol for one more such size, or for how many elements of a tensor are not 0; nullopt: there is none
// to be had. nullopt: of this operator nothing is known.
std::optional<MetadataResult> metadata_with_unknown_sizes(const c10::OperatorHandle& op, const OperatorInfo& info,
                                                          c10::ArrayRef<c10::IValue> arguments,
                                                          c10::ArrayRef<const at::Tensor*> tensors,
                                                          const NewUnknownSize& new_size);

}  // namespace minidynamo
