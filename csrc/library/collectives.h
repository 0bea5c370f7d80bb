// torch.distributed's collectives.
#pragma once
#include "model/arguments.h"
#include "world/tracer.h"

namespace minidynamo::handlers {

// One that changes the tensors that it is given: traced as the function of its name in minidynamo/_collectives.py.
Ref run_collective(Tracer& tracer, PyObject* callable, const Arguments& arguments);
// DistributedDataParallel's mark, for torch._dynamo, that its module is running.
Ref enter_data_parallel(Tracer& tracer, PyObject* callable, const Arguments& arguments);

}  // namespace minidynamo::handlers
