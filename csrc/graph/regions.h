// Finds the stretches of a graph that repeat, such as the layers of a model: one of them has to be compiled, not all.
//
// A graph lists its calls in the order of the program, so N equal layers are N equal strings of labels at equal
// distances. A call's label is its function, its constants, and the metadata of its arguments and its result. Labels
// leave out names, modules and places in the program, so no marks for regions are needed. The flow of data is compared
// after that, instance by instance. What the program marks all the same comes first.
//
// This file knows calls as labels and edges; `pieces.h` makes them of a graph.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace minidynamo {

struct RegionLimits {
  size_t least_length = 6;  // calls in a region
  size_t longest = 1000;
  size_t least_times = 3;  // instances; two are enough for what the program marks
};

// A call of a graph, by its position among them.
struct LabelledCall {
  uint32_t label = 0;            // equal for calls that differ in their place alone
  std::vector<int32_t> edges;    // its arguments in order: positions of calls, or -1 - i for the graph's i-th input
  bool is_library_call = false;  // a compiler fuses nothing with it: a matrix product, a convolution
  bool escapes = false;          // its result is one of the graph's
  uint32_t marked_region = 0;    // equal for the calls of one that the program marks (MarkedRegion); 0: none
};

// Equal stretches [start, start + length), disjoint, in order.
struct Region {
  size_t length = 0;
  std::vector<size_t> starts;
  bool is_marked = false;
};

// Regions that share no call, the one that saves most calls first. `may_cut`: for each position, and the end, whether
// the graph may be cut before it.
std::vector<Region> find_regions(const std::vector<LabelledCall>& calls, const std::vector<bool>& may_cut,
                                 const RegionLimits& limits = {});

// The values from before `begin` that the calls in [begin, end) use, as edges, each once, in the order of first use.
std::vector<int32_t> outer_edges(const std::vector<LabelledCall>& calls, size_t begin, size_t end);

}  // namespace minidynamo
