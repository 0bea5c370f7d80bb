// Resume functions: an original code object entered in its middle, with its locals, value stack and handled exception
// given as arguments. One per place and set of bound locals, shared by all cache entries that end there. One that
// stands in a call also differs by what it calls: the rest of a program from one place in a callee has little in common
// with the rest from another, and the two are not to take up each other's share of the recompile limit.
//
// The code is the original's behind a prologue that restores the stack and jumps to the place. Of locals that
// cannot be read any more only those are passed that keep alive what was there before. Cells are passed as cell
// objects; a free variable's too, so that a resume function needs no closure. Breaks in a resume function's frame
// resume the original again, so places are always the original's.
//
// What is passed is held by nothing else from then on, as in the original's frame: the end of an object may be seen.
// The hook sees to that for what residual code calls last (defer_resume in hook/run/run_entry.h); a frame that called
// another one gets that one's arguments in a list.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "bytecode/instruction.h"
#include "python/ref.h"
#include "world/state/frame.h"

namespace minidynamo {

struct ResumePlace {
  enum class Kind : uint8_t {
    Before,      // the instruction is next
    InCall,      // the call at this instruction is going on: its rest is a resume function that is called first
    Suspended,   // a generator suspended at this yield
    NotStarted,  // a generator at its RETURN_GENERATOR
  };
  Kind kind = Kind::Before;
  int32_t instruction = 0;
  bool is_callee = false;  // another resume function calls it, with its arguments in one list, which it empties
  auto operator<=>(const ResumePlace&) const = default;
};

struct ResumeParameter {
  enum class Kind : uint8_t {
    Local,     // index: fast local of the original
    Stack,     // index: slot of the value stack
    Handled,   // the exception being handled
    Callee,    // InCall: the resume function of the frame called
    Arguments  // InCall: the list of its arguments
  };
  Kind kind;
  int32_t index = 0;
};

// Hangs on the resume function's code object, which the original code object owns: both die with the original, unless a
// frame or a generator still runs the resume function, which is then a code object like any other that runs uncaptured.
// Who keeps one of these for longer than a call keeps the code object.
struct ResumeFunction {
  PyCodeObject* code = nullptr;
  Ref name;      // how residual code names it: __minidynamo_resume_at_<offset>_<number>
  Ref original;  // weak reference to the code object
  ResumePlace place;
  std::vector<ResumeParameter> parameters;
  std::vector<int32_t> local_of;  // by fast local of the original: its own
  int32_t prologue = 0;           // instructions before the original's first
  int32_t line = -1;              // the program's line, on which it goes on; -1: unknown
};

// Where a frame stands in terms of the code that the user wrote.
struct OriginalPosition {
  const CodeInfo* prepared;                // the original's
  int32_t instruction;                     // in the original
  const ResumeFunction* resume = nullptr;  // whose frame it is; null for the original's own
  bool in_prologue_call = false;           // it is calling the resume function of the frame that it called
  bool in_prologue = false;                // it is not there yet

  int32_t local(int32_t original) const noexcept { return resume ? resume->local_of[original] : original; }
};
OriginalPosition original_position(const Frame& frame);

// True if a local of the original can still be read when it goes on from the place.
bool is_read_after(const CodeInfo& original, ResumePlace place, int32_t local);

// The resume function of `original` at a place, made if there is none: a code object, of which residual code makes a
// function with the globals of the frame that goes on. `passed` tells of each local of the original, and where one is
// saved on the stack, of each slot behind them, whether it is to be
// a parameter; `callee` is what one in a call calls first. Null with a Python error set on failure.
const ResumeFunction* resume_function(const CodeInfo& original, ResumePlace place, const std::vector<bool>& passed,
                                      const ResumeFunction* callee = nullptr);

// The resume function with this code object; null if it is something else.
const ResumeFunction* find_resume_function(PyCodeObject* code) noexcept;
// The code object that it goes on with; null if that is gone.
Ref original_of(const ResumeFunction& resume) noexcept;

// How reports name a place in the program: by the qualified name of the function.
std::string qualified_name(PyCodeObject* code);
// How reports name what is captured: by its qualified name, a resume function `f from line 12`.
std::string display_name(PyCodeObject* code);
// The code object that the program has for it: the original of a resume function, else the code object itself.
Ref code_of_program(PyCodeObject* code) noexcept;
// All that were made for an original code object.
std::vector<Ref> resume_codes(PyCodeObject* original);
// Forgets them all. What runs goes on.
void forget_resume_functions() noexcept;

}  // namespace minidynamo
