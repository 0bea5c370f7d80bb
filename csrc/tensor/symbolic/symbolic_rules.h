// Operators whose results are told by their arguments' expressions, better than probes could: where the program's own
// numbers decide between cases (a slice that ends beyond its tensor), the case is asked for.
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "tensor/dispatch/memo.h"
#include "tensor/symbolic/dense_order.h"

namespace minidynamo {

struct SymbolicCall {
  const OperatorInfo& info;
  c10::ArrayRef<c10::IValue> arguments;
  c10::ArrayRef<const at::Tensor*> tensors;
  // True if it holds. About unknown numbers it is supposed to (TraceSizes::suppose): the other case is an error or
  // rare.
  std::function<bool(SizeCondition)> suppose;
  const TraceSizes& trace;

  SymbolicLayout layout(size_t tensor) const;
  Expression number(size_t argument) const;
};

// The layout of the operator's one result; nullopt: no rule, or none for such arguments.
std::optional<SymbolicLayout> rule_layout(const SymbolicCall& call);
// The layouts of the parts that an operator splits a tensor into, as many as now; empty: it is no such operator.
std::vector<SymbolicLayout> part_layouts(const SymbolicCall& call, size_t count);

}  // namespace minidynamo
