// Which numbers of a frame may differ at the next call: sizes of tensors and ints that a capture is not to take as they
// are. Decided before a trace, by what users say and by what changed between calls (hook/changing_numbers.h).
#pragma once
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace minidynamo {

struct OpenNumbers {
  bool all_sizes = false;  // of tensors that are no parameters or buffers, and all ints that are arguments
  bool never = false;      // nothing is left open, whatever changes
  // By the text of its source: a tensor's dimensions, by bit; anything for an int.
  std::unordered_map<std::string, uint64_t> sources;
  std::vector<std::string> rates;  // floats of optimizers' groups, whatever the rest says (changing_number.h)

  bool none() const noexcept { return never || (!all_sizes && sources.empty()); }
  // Whether it has more than this; then it is that too.
  bool widen(const std::string& source, uint64_t dimensions) {
    const auto [known, is_new] = sources.try_emplace(source, dimensions);
    if (is_new) return true;
    const bool is_more = (dimensions & ~known->second) != 0;
    known->second |= dimensions;
    return is_more;
  }
};

}  // namespace minidynamo
