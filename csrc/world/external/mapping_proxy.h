// Read-only views of external dicts (types.MappingProxyType): in the trace, such a view is a mappingproxy over the
// shadow of the dict, and counts as another name of that shadow: reading one key guards that key, anything else
// fills it.
#pragma once
#include "world/state/tracer.h"

namespace minidynamo {

// The proxy over the shadow of a dict.
Ref proxy_over(Tracer& tracer, PyObject* dict);

}  // namespace minidynamo
