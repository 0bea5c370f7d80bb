// Floats of which the program has shown that they change: an entry's guard held them to one value, and the next call
// brought another. They are inputs of the graph from then on, and traced numbers to the program
// (world/proxies/symbolic_float.h). Numbers of optimizers' groups (a learning rate, a decay) change in all groups
// together.
#pragma once
#include <string>
#include <string_view>

#include "world/state/tracer.h"

namespace minidynamo {

// How numbers of one name in all groups are called, by the path of one; empty for a path to anything else.
std::string dynamic_float(std::string_view path);
// True if a name is such a one, and not the path of another float.
bool is_of_groups(std::string_view name);
// True if the float that a source leads to is one of these (TraceLimits::dynamic_floats: such names, and paths of other
// floats).
bool changes(const Tracer& tracer, const Source* source);
// The traced number for it.
Ref enter_dynamic_float(Tracer& tracer, Source* source);
// The numbers, among those that the trace was given, whose value it had to take.
std::vector<const Source*> numbers_taken(const Tracer& tracer);

}  // namespace minidynamo
