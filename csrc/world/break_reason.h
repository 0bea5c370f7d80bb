// The reasons for which a trace ends before its frame does, as data: break_reasons.def.
#pragma once
#include <cstdint>
#include <span>

namespace minidynamo {

enum class BreakReason : uint8_t {
#define BREAK_REASON(name, code, explanation, hints) name,
#include "world/break_reasons.def"
#undef BREAK_REASON
};

struct BreakReasonRow {
  const char* code;         // the stable short name
  const char* explanation;  // what it means, in general
  const char* hints;        // what a user can do about it, separated by "; "
};
const BreakReasonRow& row_of(BreakReason reason) noexcept;
std::span<const BreakReasonRow> break_reasons() noexcept;

}  // namespace minidynamo
