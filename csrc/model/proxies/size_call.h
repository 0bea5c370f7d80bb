// Calls that are given symbolic ints.
#pragma once
#include <optional>
#include <vector>

#include "model/protocols/arguments.h"
#include "world/state/tracer.h"

namespace minidynamo {

// A call some of whose arguments are or hold symbolic ints: the result, or nullopt to go on with `arguments`, which are
// specialized unless the callable deals with them. `room` keeps them. `specializes`: true if what the call reads is to
// be specialized too.
std::optional<Ref> call_with_sizes(Tracer& tracer, PyObject* callable, Arguments& arguments, std::vector<Ref>& room,
                                   bool& specializes);

}  // namespace minidynamo
