// The writes that a trace made to outside objects, as steps that make them for real.
#pragma once
#include "codegen/value_planner.h"

namespace minidynamo {

// Attributes, globals and cells in the order of their first writing, then containers, then iterators. False after a
// refusal of `values`.
bool plan_effects(Tracer& tracer, ValuePlanner& values);
// The writes to one container.
bool plan_container(Tracer& tracer, ValuePlanner& values, const StandIn& stand_in);

}  // namespace minidynamo
