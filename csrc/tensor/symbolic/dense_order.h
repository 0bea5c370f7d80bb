// Questions about the order of a tensor's elements in memory, answered from expressions: what is so at this call's
// sizes only by chance (a stride that equals a size) is asked of the trace, and is so at every call that it is good
// for.
#pragma once
#include <initializer_list>

#include <c10/util/SmallVector.h>

#include "size/trace_sizes.h"

namespace minidynamo {

// Sizes, strides and offset of a fake as expressions.
struct SymbolicLayout {
  c10::SmallVector<Expression, 5> sizes, strides;
  Expression offset;
  bool operator==(const SymbolicLayout& other) const = default;
};

// True if it is contiguous whatever the sizes are.
bool is_usual(const SymbolicLayout& layout);
bool is_contiguous(TraceSizes& trace, const SymbolicLayout& layout);
// Without gaps or overlaps in some order.
bool is_dense(TraceSizes& trace, const SymbolicLayout& layout);
// Contiguous if the dimensions are walked in this order, innermost first. False for another number of dimensions.
bool is_contiguous_in_order(TraceSizes& trace, const SymbolicLayout& layout, std::initializer_list<size_t> order);
// Strides that grow in this order, innermost first, as c10 defines it for channels-last formats.
bool has_stride_order(TraceSizes& trace, const SymbolicLayout& layout, std::initializer_list<size_t> order);

}  // namespace minidynamo
