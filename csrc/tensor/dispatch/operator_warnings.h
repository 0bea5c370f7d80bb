// Warnings that operators give, while tracing: a trace must not give them, for the run will.
#pragma once
#include "python/ref.h"

namespace minidynamo {

// While one lives, torch's warnings on this thread are raised (AsErrors) or dropped (Ignored). Warnings that torch
// issues once in a process are issued as if for the first time (AsErrors), and none of them counts as issued.
//
// Works by an entry in warnings.filters that matches on this thread only: torch's bindings hand their warnings to
// Python's module, whatever C++ handler there is.
class OperatorWarnings {
 public:
  enum class As : uint8_t { Errors, ErrorsIfNotGivenYet, Ignored };
  explicit OperatorWarnings(As as);
  ~OperatorWarnings();
  OperatorWarnings(const OperatorWarnings&) = delete;
  OperatorWarnings& operator=(const OperatorWarnings&) = delete;

 private:
  Ref filters_, entry_;
  bool warn_always_;
};

// True if the program's own filters keep a warning (an exception) of a place from being seen.
bool is_warning_ignored(PyObject* warning, PyObject* module_name, long line);

}  // namespace minidynamo
