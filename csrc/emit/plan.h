// The residual plan: what has to happen around a compiled graph so that the frame's effect is the original's. A list of
// steps in single-assignment form; made by the tracer at the end of a trace, turned into bytecode (residual.cpp) and
// printed as Python source.
//
// The residual function has two parameters that the guard check gathered: `inputs` (a tuple of the graph's inputs in
// order) and `live` (a list of the external objects). Steps run in order; each may define one value, named by its
// index.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bytecode/instruction.h"
#include "python/code/lent_function.h"
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
    Set,    // operands: elements
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

// How a plan goes on where the trace ended before the frame did: it runs one instruction as CPython would, and calls a
// resume function for what is left.
struct PlanBreak {
  // The frames that run there, outermost (the residual function's own) first: how they look in tracebacks.
  struct FrameAppearance {
    Ref code, globals;  // the original's
    Position position;
  };
  // A resume function, made of its code when it is called: an entry keeps neither the code nor the module's names
  // alive.
  struct NewFunction {
    Ref name, code, globals;
  };
  // An argument of a resume function.
  struct Argument {
    enum class Kind : uint8_t { Value, Result, Exception, Constant, List, Match, Function };
    Kind kind;
    uint32_t index = 0;  // Value: ValueId; Result: of the instruction; Match: the second
                         // result, if not None, else the value
    Ref constant;
    std::vector<Argument> items = {};
    NewFunction function = {};
  };
  struct Continuation {
    NewFunction function;
    std::vector<Argument> arguments;
    uint32_t results = 0;            // that the instruction leaves above its kept operands
    uint32_t kept = 0;               // operands that it leaves where they are
    uint32_t traceback_entries = 0;  // raised: those of frames outside the one whose handler is entered
  };

  std::vector<FrameAppearance> frames;
  Instruction instruction{Op::NOP};  // NOP: none, only a resume function is called
  Ref argument;                      // the name that the instruction's argument stands for; null: it has none
  Ref keyword_names;                 // a CALL's
  std::vector<ValueId> operands;     // kNoValue: a null
  std::vector<ValueId> moved;        // operands that only the stack is to hold
  std::vector<ValueId> released;     // objects from before that end here, behind all other steps
  std::vector<ValueId> held;         // objects whose end may be seen: alive while the instruction runs
  ValueId handled = kNoValue;        // the exception being handled
  std::optional<Continuation> next, jump, raised;
  // Values that only value stacks hold: gone once an exception leaves the frames, whose variables its traceback keeps.
  std::vector<ValueId> only_on_stack;
};

// Calls use(ValueId) for each use of a value that a break makes.
template <class Use>
void each_value(const std::vector<PlanBreak::Argument>& arguments, Use&& use) {
  using Kind = PlanBreak::Argument::Kind;
  for (const PlanBreak::Argument& argument : arguments) {
    if (argument.kind == Kind::Value || argument.kind == Kind::Match) use(argument.index);
    each_value(argument.items, use);
  }
}
template <class Use>
void each_value_but_operands(const PlanBreak& end, Use&& use) {
  for (const ValueId value : end.held) use(value);
  if (end.handled != kNoValue) use(end.handled);
  for (const auto* way : {&end.next, &end.jump, &end.raised})
    if (*way) each_value((*way)->arguments, use);
}
template <class Use>
void each_value(const PlanBreak& end, Use&& use) {
  for (const ValueId operand : end.operands)
    if (operand != kNoValue) use(operand);
  each_value_but_operands(end, use);
}

struct Plan {
  bool calls_graph = true;     // false: nothing was recorded, no compiled function
  bool draws_numbers = false;  // the steps draw them, since no graph is given them
  bool frees_locals = false;   // behind the graph, by emptying the last item of `live`, which holds them
  std::string compiled_name;   // "__minidynamo_compiled_fn_0": a free variable of the residual function
  uint32_t output_count = 0;
  std::vector<PlanStep> steps;
  ValueId result = kNoValue;     // the frame's return value
  std::optional<PlanBreak> end;  // in place of returning
};

// The residual function for a plan: named, placed (file, first line) and qualified as `original`. `globals` are those
// of the frame, and of every function in whose place it runs; `compiled` is called for the graph. False with a Python
// error set on failure.
LentFunction residual_function(const Plan& plan, PyCodeObject* original, PyObject* globals, PyObject* compiled);

// The same plan as Python source, for people.
std::string to_source(const Plan& plan, PyCodeObject* original);

}  // namespace minidynamo
