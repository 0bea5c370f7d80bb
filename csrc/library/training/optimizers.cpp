// The parts of torch.optim around the arithmetic of a step: it asks for graph breaks, keeps its zero_grad() away from
// compilers, and reads how many steps there were out of tensors. The step itself is Python code that is traced as any.
#include "library/rules/handlers.h"

#include "model/objects/function.h"
#include "model/protocols/abstract.h"
#include "model/tensors/tensor_call.h"
#include "python/named_item.h"
#include "python/native_method.h"
#include "python/objects/native_contents.h"
#include "python/process/out_of_memory.h"
#include "tensor/values/known_values.h"
#include "world/external/known_types.h"
#include "world/proxies/symbolic_float.h"

namespace minidynamo::handlers {

namespace {

// The wrapper of each step() switches gradients off, and asks for graph breaks around what it calls, for the sake of
// how TorchDynamo's graphs are compiled.
bool is_step_of_optimizer(const Frame& frame) {
  PyObject* names = frame.globals.get();
  PyObject* module = names && PyDict_Check(names) ? named_item(names, "__name__") : nullptr;
  return module && PyUnicode_Check(module) && !PyUnicode_CompareWithASCIIString(module, "torch.optim.optimizer") &&
         !PyUnicode_CompareWithASCIIString(frame.code()->co_name, "_use_grad");
}

bool is_plain_counter(PyObject* tensor) {
  auto is = [&](const char* name) { return native_attribute(tensor, name).is(Py_True); };
  auto ask = [&](const char* name) { return call_native_method(tensor, name); };
  return is("is_cpu") && !is("requires_grad") && ask("is_floating_point").is(Py_True) &&
         PyLong_AsLong(ask("dim").get()) == 0;
}

}  // namespace

Ref torch_graph_break(Tracer& tracer, PyObject*, const Arguments&) {
  if (tracer.frame && is_step_of_optimizer(*tracer.frame)) return Ref::none();
  return tracer.abort(BreakReason::ExplicitBreak, "the program asks for a graph break");
}

// Optimizer.zero_grad
Ref trace_wrapped(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  const Ref wrapped = load_attribute(tracer, callable, "__wrapped__"_name);
  return wrapped ? call(tracer, wrapped.get(), arguments) : Ref();
}

// The number of steps so far, by item(): where the trace does not know it, a number whose value the graph computes.
Ref optimizer_number(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  PyObject* value = arguments.values.size() == 1 ? arguments.values[0].get() : nullptr;
  if (!value || !is_fake(value)) return call_function(tracer, callable, arguments);
  if (has_known_value(value) || !is_plain_counter(value)) {
    const Ref read = load_attribute(tracer, value, "item"_name);
    return read ? call(tracer, read.get(), Arguments{}) : Ref();
  }
  const Ref values[] = {arguments.values[0], Ref::borrow("torch.float64"_imported), Ref::boolean(true)};
  const Ref names = Ref::made(PyTuple_Pack(1, "copy"_name));
  Ref tensor = record_call(tracer, NodeKind::CallMethod, "to"_name, Arguments{values, names.get()});
  return tensor ? make_symbolic_float(tracer, std::move(tensor)) : Ref();
}

// torch makes one tensor of several numbers only where they are tensors themselves.
Ref optimizer_numbers(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  const bool are_tensors = arguments.values.size() != 1 || has_fake(arguments);
  return are_tensors ? call_function(tracer, callable, arguments) : arguments.values[0];
}

}  // namespace minidynamo::handlers
