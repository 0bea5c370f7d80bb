// The residual plan: what has to happen around a compiled graph so that the frame's effect is the original's. A list of
// steps in single-assignment form; made by the tracer at the end of a trace, turned into bytecode (residual.h) and
// printed as Python source.
//
// The residual function has two parameters, both tuples that the guard check gathered: `inputs` (graph inputs in order)
// and `live` (other outside objects). Steps run in order; each may define one value, named by its index.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "python/ref.h"

namespace minidynamo {

using ValueId = uint32_t;  // index of the step that defines it
inline constexpr ValueId kNoValue = UINT32_MAX;

struct PlanStep {
  enum class Kind : uint8_t {
    // define a value
    Constant,  // object
    Live,      // live[index]
    Output,    // outputs[index] of the compiled function (the call itself is not a step: it runs first, once)
    Tuple,
    List,
    Set,    // of operands
    Dict,   // operands: key, value, key, value...
    Slice,  // operands: start, stop, step
    Call,   // object(*operands): object is a callable constant (object.__new__, functools.partial, a class...)
    // effects
    SetAttribute,     // setattr(operands[0], object: str, operands[1])
    DeleteAttribute,  // delattr(operands[0], object)
    SetItem,          // operands[0][operands[1]] = operands[2]
    DeleteItem,       // del operands[0][operands[1]]
    CallEffect,       // object(*operands), result dropped
  };
  Kind kind;
  Ref object;
  uint32_t index = 0;
  std::vector<ValueId> operands;
};

struct Plan {
  bool calls_graph = true;    // false: nothing was recorded, no compiled function
  std::string compiled_name;  // "__compiled_fn_0": global of the function's module
  uint32_t output_count = 0;
  std::vector<PlanStep> steps;
  ValueId result = kNoValue;  // the frame's return value
};

// The residual function for a plan: named, placed (file, first line) and qualified as `original`, with its globals.
// Null Ref with a Python error set on failure.
Ref residual_function(const Plan& plan, PyCodeObject* original, PyObject* globals);

// The same plan as Python source, for people.
std::string to_source(const Plan& plan, PyCodeObject* original);

}  // namespace minidynamo
