// The end of a trace: from the objects that are alive to the residual plan that makes them again.
#pragma once
#include "codegen/plan.h"
#include "trace/tracer.h"

namespace minidynamo {

struct Exit {
  Plan plan;
  std::vector<NodeId> outputs;  // of the graph
  std::vector<Source*> inputs;  // of the graph, in order: gathered slots 0, 1, ...
};

// What returning `result` from the root frame takes: graph outputs, rebuilt objects, effects on outside objects.
// Removes dead nodes and decides what the guards gather. False after give_up().
bool plan_exit(Tracer& tracer, PyObject* result, Exit& exit);

}  // namespace minidynamo
