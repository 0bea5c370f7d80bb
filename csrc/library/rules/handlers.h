// Handlers: what calls of known functions do in a trace. Each is declared by its row in rules.def, and is called with
// the callable and the arguments of the call. It returns the result; or null, with the trace ended or a Python error
// set.
#pragma once
#include "model/protocols/arguments.h"
#include "world/state/tracer.h"

namespace minidynamo::handlers {

#define DECLARE_HANDLER(name) Ref name(Tracer& tracer, PyObject* callable, const Arguments& arguments);
#define DECLARE_Handler(name) DECLARE_HANDLER(name)
#define DECLARE_NumberHandler(name) DECLARE_HANDLER(name)
#define DECLARE_OwnFrame(use, sees_nothing_from, detail, ...) __VA_OPT__(DECLARE_HANDLER(__VA_ARGS__))
#define DECLARE_Compares(...)
#define DECLARE_Leaf(...)
#define DECLARE_Machine(...)
#define DECLARE_Operator(...)
#define DECLARE_Pure(...)
#define DECLARE_Refuse(...)
#define DECLARE_State(...)
#define DECLARE_TensorData(...)
#define DECLARE_TensorFunction(...)
#define DECLARE_TensorMethod(...)
#define DECLARE_TorchRead(...)
#define DECLARE_TorchState(...)
#define RULE(kind, path, ...) DECLARE_##kind(__VA_ARGS__)
#include "library/rules/rules.def"
#undef RULE
#undef DECLARE_Compares
#undef DECLARE_Handler
#undef DECLARE_Leaf
#undef DECLARE_Machine
#undef DECLARE_NumberHandler
#undef DECLARE_Operator
#undef DECLARE_OwnFrame
#undef DECLARE_Pure
#undef DECLARE_Refuse
#undef DECLARE_State
#undef DECLARE_TensorData
#undef DECLARE_TensorFunction
#undef DECLARE_TensorMethod
#undef DECLARE_TorchRead
#undef DECLARE_TorchState
#undef DECLARE_HANDLER

}  // namespace minidynamo::handlers
