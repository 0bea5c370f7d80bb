#include "world/state/break_reason.h"

namespace minidynamo {
namespace {
constexpr BreakReasonRow kRows[] = {
#define BREAK_REASON(name, extent, code, explanation, hints) {BreakExtent::extent, code, explanation, hints},
#include "world/state/break_reasons.def"
#undef BREAK_REASON
};
}  // namespace

const BreakReasonRow& row_of(BreakReason reason) noexcept { return kRows[static_cast<size_t>(reason)]; }
std::span<const BreakReasonRow> break_reasons() noexcept { return kRows; }

}  // namespace minidynamo
