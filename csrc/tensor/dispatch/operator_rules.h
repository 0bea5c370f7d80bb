// The table of operators that need more than "run the meta kernel": data only (operator_rules.cpp), used by
// operator_info.
#pragma once
#include <cstdint>
#include <string_view>

namespace minidynamo {

enum class OperatorRule : uint8_t {
  None,
  // Reads metadata only, and must see the real device: its CPU kernel runs on the fakes themselves.
  RunOnFakes,
  // The output's shape depends on data if an index is a mask.
  DynamicIfMaskIndex,
  // The gradient's shape depends on data if an index is a mask and the values have one.
  DynamicBackwardIfMaskIndex,
  // The output's shape depends on data unless `output_size` is given.
  DynamicUnlessOutputSize,
  // Writes running statistics that its schema does not declare, if it is training.
  WritesRunningStatistics,
  // Keeps what its backward needs where the grad mode is on, whether or not it is told that it trains.
  SavesByGradMode,
  // The kernel refuses tensors of several dtypes, and its meta kernel does not look.
  OneDtype,
  // The value or shape depends on data.
  DataDependent,
};

OperatorRule rule_of(std::string_view operator_name) noexcept;

}  // namespace minidynamo
