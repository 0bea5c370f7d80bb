// Read-only views of outside dicts (types.MappingProxyType): in the trace, such a view is a mappingproxy over the
// stand-in of the dict, and counts as another name of that stand-in: reading one key guards that key, anything else
// fills it.
#pragma once
#include "world/tracer.h"

namespace minidynamo {

// The proxy over the stand-in of a dict.
Ref proxy_over(Tracer& tracer, PyObject* dict);

}  // namespace minidynamo
