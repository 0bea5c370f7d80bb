// The reasons for which a trace ends before its frame does, as data: break_reasons.def.
#pragma once
#include <cstdint>
#include <span>

namespace minidynamo {

enum class BreakReason : uint8_t {
#define BREAK_REASON(name, extent, code, explanation, hints) name,
#include "world/state/break_reasons.def"
#undef BREAK_REASON
};

// The extent of the code that a reason lies in, and so what another end of the trace can do about it.
enum class BreakExtent : uint8_t {
  Place,    // an instruction: the trace ends before it
  Cut,      // an instruction, at which the resume function may begin: a new trace is all that is wanted
  Frame,    // the frame of the instruction, which runs eagerly from its start
  Capture,  // the function or the pipeline: no other end would help
  Attempt,  // this capture alone: a later one may do
};

struct BreakReasonRow {
  BreakExtent extent;
  const char* code;         // the stable short name
  const char* explanation;  // the meaning, in general
  const char* hints;        // the user's remedies, separated by "; "
};
const BreakReasonRow& row_of(BreakReason reason) noexcept;
inline BreakExtent extent_of(BreakReason reason) noexcept { return row_of(reason).extent; }
std::span<const BreakReasonRow> break_reasons() noexcept;

}  // namespace minidynamo
