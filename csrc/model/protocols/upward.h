// Functions that the object model needs from the rooms above it: declared here, defined there.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "model/protocols/arguments.h"
#include "model/protocols/rule.h"
#include "world/state/tracer.h"

namespace minidynamo {

// --- trace/interpreter.cpp

enum class Outcome : uint8_t { Returned, Yielded, Failed };

// Runs from frame.instruction on. Returned and Yielded set a value; after Yielded, push the value sent and run again
// from the next instruction. Failed: a Python error is set (and perhaps tracer.is_over()).
Outcome run(Tracer& tracer, Frame& frame, Ref& value);

// As run(), for a generator frame into which the current Python error is thrown at the point where it stands.
Outcome run_throwing(Tracer& tracer, Frame& frame, Ref& value);

// Runs a whole frame that is not a generator's; for one that is, makes the generator (model/objects/generator.h).
Ref evaluate(Tracer& tracer, std::unique_ptr<Frame> frame);

// --- trace/checks.cpp

// True if the frame asks next, behind the call that it is at, for the truth of the call's result alone, to raise or to
// go on.
bool is_checked_next(const Frame& frame);

// --- library/rules/rules.cpp

// The rule for a callable; null if there is none.
const Rule* find_rule(PyObject* callable);
Ref apply_rule(Tracer& tracer, const Rule& rule, PyObject* callable, const Arguments& arguments);

// --- library/rules/user_rules.cpp

// Why a Python function is neither to be captured nor traced into.
struct SkipReason {
  BreakReason reason;
  std::string detail;
};
std::optional<SkipReason> skip_reason(PyObject* function);

}  // namespace minidynamo
