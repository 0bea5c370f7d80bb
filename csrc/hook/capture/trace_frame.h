// One frame traced: whole, or up to where it must end.
#pragma once
#include "plan/exit.h"
#include "world/state/tracer.h"

namespace minidynamo {

struct TracedFrame {
  GuardTree guards;
  std::unique_ptr<Tracer> tracer;
  Exit exit;
  std::set<std::string> specialized_before_backward;  // for a trace below autograd: see DynamicSizes
};

struct TraceRequest {
  bool may_break;           // false: all or nothing
  long force_break_at = 0;  // testing: break before this instruction, counted over the trace; 0: no
  std::chrono::milliseconds patience = TraceLimits{}.patience;
  const DynamicSizes* open = nullptr;            // numbers that may differ at the next call
  std::vector<std::string> dynamic_floats = {};  // inputs of the graph, if that leads to one
  bool only_whole = false;  // nothing is cut short: only a whole trace is better than the one that there is
  bool may_go_below_autograd = true;
  bool only_common_forms = false;           // see TraceLimits
  bool keeps_recurrent_layers_out = false;  // the same
  std::optional<std::set<std::string>> specialized_before_backward =
      std::nullopt;  // begin below autograd, as the last time
  UnbackedNumberLimits unbacked_numbers = {};
  std::function<void(const Tracer&)> look = {};  // called now and then
};

// Why a trace ended before its frame did.
struct FrameBreak : Break {
  bool is_forbidden = false;          // the program wants an error there (error_on_graph_break)
  bool has_unbacked_numbers = false;  // that only the run of the graph knows
};

// Null: the frame has to run uncaptured. `why` says why the trace ended before the frame did; it is set for traces that
// are cut short too (then `exit.plan.end` is there). A trace that meets something that cannot be captured is thrown
// away and made again, to end before that.
std::unique_ptr<TracedFrame> trace_frame(PyCodeObject* code, const FrameView& view, TraceRequest request,
                                         FrameBreak& why);

}  // namespace minidynamo
