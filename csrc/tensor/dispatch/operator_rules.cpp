#include "tensor/dispatch/operator_rules.h"

#include <algorithm>
#include <array>

#include "tensor/symbolic/sorted_rows.h"

namespace minidynamo {
namespace {

struct Row {
  std::string_view name;
  OperatorRule rule;
};

// Sorted by name.
constexpr std::array kRules{
    Row{"aten::_cdist_forward", OperatorRule::OneDtype},
    Row{"aten::_fused_sdp_choice", OperatorRule::RunOnFakes},
    Row{"aten::_index_put_impl_", OperatorRule::DynamicBackwardIfMaskIndex},
    Row{"aten::addbmm", OperatorRule::OneDtype},
    Row{"aten::addbmm_", OperatorRule::OneDtype},
    Row{"aten::addmm", OperatorRule::OneDtype},
    Row{"aten::addmm_", OperatorRule::OneDtype},
    Row{"aten::addmv", OperatorRule::OneDtype},
    Row{"aten::addmv_", OperatorRule::OneDtype},
    Row{"aten::index.Tensor", OperatorRule::DynamicIfMaskIndex},
    Row{"aten::index_put", OperatorRule::DynamicBackwardIfMaskIndex},
    Row{"aten::index_put_", OperatorRule::DynamicBackwardIfMaskIndex},
    Row{"aten::is_set_to", OperatorRule::RunOnFakes},
    Row{"aten::linalg_cross", OperatorRule::OneDtype},
    Row{"aten::mkldnn_rnn_layer", OperatorRule::SavesByGradMode},
    Row{"aten::mm", OperatorRule::OneDtype},
    Row{"aten::mv", OperatorRule::OneDtype},
    Row{"aten::native_batch_norm", OperatorRule::WritesRunningStatistics},
    Row{"aten::repeat_interleave.Tensor", OperatorRule::DynamicUnlessOutputSize},
};

static_assert(std::ranges::is_sorted(kRules, {}, &Row::name));

}  // namespace

OperatorRule rule_of(std::string_view operator_name) noexcept {
  const Row* row = find_row(kRules, operator_name);
  return row ? row->rule : OperatorRule::None;
}

}  // namespace minidynamo
