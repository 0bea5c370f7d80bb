// The record of a capture: its id, the reason for it, how it ended, and the time that each phase took. Reports, the
// structured trace (TORCH_TRACE) and timelines are made of these records, in Python.
#pragma once
#include <string>
#include <vector>

#include "cache/capture_id.h"
#include "guard/source.h"
#include "hook/capture/phases.h"
#include "python/ref.h"

namespace minidynamo {

struct CaptureRecord {
  enum class Outcome : uint8_t {
    Uncaptured,  // the frame runs uncaptured; break records with this id say why
    Entry,       // a cache entry was made
    Error,       // a Python error was raised; `error` has its type, and what it says if it is one of ours
  };
  struct Span {  // a part of the capture's time, in seconds since it began
    Phase phase;
    double begin, end;
  };

  CaptureId id;
  Ref code;  // weak reference to the code object of the program
  Ref filename;
  std::string function;  // display name
  int line = 0;          // the first of the function
  std::string backend;
  std::vector<GuardTree::Refusal> why;  // for each earlier entry the guard that refused the call; empty: there was none
  double began = 0;                     // seconds since the epoch
  double seconds = 0;                   // from beginning to end
  PhaseSeconds phases{};
  std::vector<Span> spans;
  Outcome outcome = Outcome::Uncaptured;
  std::string error;
  size_t operators = 0, guards = 0;
  double guard_seconds = 0;      // one check of all guards
  int64_t peak_memory_grew = 0;  // bytes, by which the largest resident size of the process grew meanwhile
};

}  // namespace minidynamo
