// An operator call as Python sees it: the OpOverload, its arguments and its result, for OperatorObserver::operator_ran.
#pragma once
#include "python/ref.h"
#include "tensor/torch_headers.h"

namespace minidynamo {

struct OperatorReport {
  Ref target, args, kwargs, result;
};

// Needs the GIL. Arguments that equal their defaults are left out; numbers that were wrapped into tensors are numbers
// again. Throws python_error.
OperatorReport describe_call(const c10::OperatorHandle& op, c10::ArrayRef<c10::IValue> arguments,
                             c10::ArrayRef<c10::IValue> results);

}  // namespace minidynamo
