// torch.distributed's collectives. Theirs are methods of C++ objects that say nothing to the dispatcher of what they do
// with other processes; operators of the same meaning do (torch.ops._c10d_functional), which are nodes.
#include "library/rules/handlers.h"

#include "model/protocols/abstract.h"
#include "python/native_scope.h"
#include "python/process/out_of_memory.h"
#include "world/external/known_types.h"

namespace minidynamo::handlers {

// One that changes the tensors that it is given: traced as the function of its name in
// minidynamo/_runtime/collectives.py.
Ref run_collective(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  Ref shadow;
  {
    NativeScope native;  // the first one imports torch's functional operators
    const Ref name = Ref::made(PyObject_GetAttrString(callable, "__name__"));
    shadow = Ref::steal(PyObject_GetAttr("minidynamo._runtime.collectives"_imported, name.get()));
  }
  return shadow ? call(tracer, shadow.get(), arguments) : nullptr;
}

// DistributedDataParallel's mark, for torch._dynamo, that its module is running.
Ref enter_data_parallel(Tracer& tracer, PyObject*, const Arguments&) {
  return call(tracer, "contextlib.nullcontext"_imported, Arguments{});
}

}  // namespace minidynamo::handlers
