// The evaluator: runs a frame's instructions over in-trace objects.
#pragma once
#include "world/tracer.h"

namespace minidynamo {

enum class Outcome : uint8_t { Returned, Yielded, Failed };

// Runs from frame.instruction on. Returned and Yielded give a value; after Yielded, push the value sent and run again
// from the next instruction. Failed: a Python error is set (and perhaps tracer.broken()).
Outcome run(Tracer& tracer, Frame& frame, Ref& value);

// As run(), for a generator frame into which the current Python error is thrown at the point where it stands.
Outcome run_throwing(Tracer& tracer, Frame& frame, Ref& value);

// Runs a whole frame that is not a generator's; for one that is, makes the generator (generator.h).
Ref evaluate(Tracer& tracer, std::unique_ptr<Frame> frame);

// A fast local that no instruction has used yet enters the trace; null Ref without a Python error if there is none.
Ref touch_local(Tracer& tracer, Frame& frame, int32_t index);
// Where it comes from.
Source* source_of_untouched(Tracer& tracer, Frame& frame, int32_t index);

}  // namespace minidynamo
