// The numbers of a frame that may differ at the next call: sizes of tensors and ints that a capture is not to take as
// they are. Decided before a trace, by what users say and by what changed between calls
// (hook/capture/dynamic_numbers.h).
#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace minidynamo {

struct DynamicSizes {
  bool all_sizes = false;  // those of tensors that are no parameters or buffers, and all ints that are arguments
  bool never = false;      // nothing is dynamic, whatever changes
  // About numbers that only the run of a graph knows (unbacked_numbers.h): the backend cannot have them, and what was
  // supposed of them was often not so.
  bool no_unknown = false, no_suppositions = false;
  // The backend has refused a graph of a form that other front ends do not make (a backward pass within it, the step of
  // a fused optimizer): such parts stay out of graphs.
  bool only_common_forms = false;
  // By the text of its source: a tensor's dimensions, by bit; all for an int.
  std::unordered_map<std::string, uint64_t> sources;
  // Dynamic numbers of a capture that turned out to be good for one value alone; and of two such captures, which are
  // not made dynamic again.
  std::unordered_map<std::string, uint64_t> doubted, closed;
  bool last_resort = false;  // the closed numbers are dynamic again, in one last capture
  // The last capture is of a whole training step, below autograd: the numbers that a trace had specialized where
  // the backward pass began (specialized_numbers). The next one begins there.
  std::optional<std::set<std::string>> specialized_before_backward;
  std::vector<std::string>
      optimizer_hyperparameters;  // floats of optimizers' groups, whatever the rest says (dynamic_float.h)

  bool none() const noexcept { return never || (!all_sizes && sources.empty()); }
  void open(const std::string& source, uint64_t dimensions) {
    const auto shut = closed.find(source);
    if (!last_resort && shut != closed.end() && (dimensions &= ~shut->second) == 0) return;
    sources[source] |= dimensions;
  }
  void doubt(const std::string& source, uint64_t dimensions) {
    const uint64_t before = std::exchange(doubted[source], doubted[source] | dimensions);
    if ((dimensions &= before) == 0 || last_resort) return;
    closed[source] |= dimensions;
    const auto known = sources.find(source);
    if (known == sources.end()) return;
    known->second &= ~dimensions;
    if (!known->second) sources.erase(known);
  }
};

}  // namespace minidynamo
