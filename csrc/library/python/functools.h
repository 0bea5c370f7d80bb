// Functions behind a cache: functools.cache and lru_cache, and those of typing.
//
// The function is traced beneath its cache, and the residual code asks the cache, which counts, and remembers. If the
// cache then runs the function, it runs for real in the middle of the replay: it has to find the world as it was at the
// call's place in the program (world/state/effect_log.h), and must not have changed anything itself.
#pragma once

#include "model/protocols/arguments.h"
#include "world/state/tracer.h"

namespace minidynamo {

// Also of other wrappers that are known by a `__wrapped__`.
Ref call_cached_function(Tracer& tracer, PyObject* callable, const Arguments& arguments);

}  // namespace minidynamo
