// torch.ops finds what is asked for the first time by code of torch's that a trace cannot follow, and keeps it as an
// attribute of its own. So it is asked for real, and the trace is made again: then the attribute is there.
#include "library/rules/handlers.h"

#include "model/objects/function.h"
#include "python/process/out_of_memory.h"
#include "world/external/enter.h"
#include "world/external/known_types.h"

namespace minidynamo::handlers {

// torch.ops.<namespace>, .<operator> of it and .<overload> of that, asked for the first time.
Ref find_operator(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  Ref found;
  if (tracer.limits.may_fill_caches && arguments.values.size() == 2 && PyUnicode_Check(arguments.values[1].get())) {
    NativeScope native;
    found = Ref::steal(PyObject_GetAttr(arguments.values[0].get(), arguments.values[1].get()));
    clear_error();
  }
  if (!found) return call_function(tracer, callable, arguments);  // which raises as the program's own call does
  tracer.lru_caches_to_warm.push_back({Ref::borrow("builtins.getattr"_imported), arguments.positional(), nullptr});
  return enter(tracer, tracer.guards.pinned(found.get(), "torch.ops"));
}

}  // namespace minidynamo::handlers
