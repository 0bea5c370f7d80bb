// The facts about a callable that is no plain Python function to be traced. The table is in library/rules/rules.def.
#pragma once
#include <climits>

#include "model/protocols/arguments.h"
#include "world/state/tracer.h"

namespace minidynamo {

enum class FrameUse : uint8_t {
  None,
  Locals,  // the local variables of the frame that calls it
  Stack,   // exposes the frames of the stack, or may
};

struct Rule {
  enum class Kind : uint8_t {
    Pure,            // executed natively; its result depends on its arguments alone, and it changes at most those
    State,           // tells a state of the process (C functions only): executed, and guarded by its result
    TorchRead,       // tells a state of torch that every entry is guarded by (TorchState): executed
    Machine,         // tells what the machine has, which stays while the process runs: executed
    Compares,        // as Pure, and compares or hashes its arguments, or what they hold
    Operator,        // a function of the operator module: a graph node if a fake is among its arguments, else as Pure
    TensorFunction,  // a graph node if a fake is among the arguments or the result
    TensorMethod,    // the same, as a call_method
    TensorData,      // makes a tensor from data: executed for real, recorded
    TorchState,      // changes thread-local torch state: executed, recorded, restored at the end of the trace
    Leaf,            // a Python function of torch: executed natively as one node
    Inline,          // trace its __wrapped__ (cached functions)
    Handler,         // has one, which gets numbers for symbolic ints
    NumberHandler,   // has one, which takes symbolic ints
    OwnFrame,        // looks at the frame that calls it: ends the trace, and that frame runs as it is
    Refuse,          // ends the trace
  };
  using Handler = Ref (*)(Tracer&, PyObject* callable, const Arguments&);
  Kind kind;
  Handler handler = nullptr;
  BreakReason reason = BreakReason::UnknownFunction;  // Refuse: the reason, and what happens in words
  const char* detail = nullptr;
  FrameUse frame_use = FrameUse::None;  // OwnFrame: at what
  int sees_nothing_from = INT_MAX;      // OwnFrame: given so many arguments, it looks at these alone
};

}  // namespace minidynamo
