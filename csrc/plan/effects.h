// The writes that a trace made to external objects, as steps that make them for real.
#pragma once
#include "plan/values.h"
#include "world/state/tracer.h"

namespace minidynamo {

// Plans the effects of the log, in its order, then the other contents that containers have come to hold. False after a
// refusal of `values`.
bool plan_effects(Tracer& tracer, ValuePlanner& values);
// Plans the log as far as the entry at a place, for that entry's result.
bool plan_log_until(Tracer& tracer, ValuePlanner& values, size_t place);
// Plans the writes to one container.
bool plan_container(Tracer& tracer, ValuePlanner& values, const ShadowContainer& shadow);

}  // namespace minidynamo
