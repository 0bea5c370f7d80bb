// The way out of a trace that has been given up from where nothing but a C++ exception leads out: in the middle of an
// operator that asks for a number which only the run of the graph knows. The Python error is set by then.
#pragma once
#include <stdexcept>

namespace minidynamo {

struct TraceAborted : std::runtime_error {
  TraceAborted() : std::runtime_error("the trace was given up") {}
};

}  // namespace minidynamo
