// Activation checkpoints.
#pragma once
#include "model/arguments.h"
#include "world/tracer.h"

namespace minidynamo::handlers {

Ref checkpoint(Tracer& tracer, PyObject* callable, const Arguments& arguments);  // torch.utils.checkpoint.checkpoint

}  // namespace minidynamo::handlers
