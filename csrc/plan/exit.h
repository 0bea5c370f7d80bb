// The end of a trace: from the objects that are alive to the residual plan that goes on from there.
#pragma once
#include <optional>

#include "emit/plan.h"
#include "world/state/tracer.h"

namespace minidynamo {

struct Exit {
  Plan plan;
  std::vector<NodeId> outputs;  // the graph's
  std::vector<Source*> inputs;  // the graph's, in order: gathered slots 0, 1, ...

  // An argument of a resume function that may differ at the next call, as DynamicSizes has it.
  struct OpenArgument {
    Ref code;  // the resume function's
    std::string source;
    uint64_t dimensions;
  };
  std::vector<OpenArgument> open_arguments;
  std::vector<Ref> resumed;  // codes of the resume functions that go on
};

// Plans the return of `result` from the root frame: graph outputs, rebuilt objects, effects on external objects.
// Removes dead nodes and decides what the guards gather. False after abort().
bool plan_return(Tracer& tracer, PyObject* result, Exit& exit);

// Plans to go on before the current instruction of `innermost`, with all frames that led there. `handled` is the
// exception that was being handled when the trace began (None if there was none). False: it cannot be done, `refusal`
// says why. `must_advance`: an instruction that cannot run outside its frame is a refusal; otherwise the code is only
// cut there.
bool plan_break(Tracer& tracer, Frame& innermost, bool must_advance, Exit& exit, std::string& refusal);

// The instruction, as Tracer::executed, of the first assumption that does not hold at the planned end; none if all do.
std::optional<long> wrong_assumption(const Tracer& tracer, const Exit& exit);

}  // namespace minidynamo
