// Hooks on the gradients of tensors.
//
// On a leaf from outside, a hook is an effect: nothing before the backward pass sees it, so it is put there after the
// graph ran. On a tensor inside the graph it is a node: what the hook does to a gradient is traced, as one more graph,
// which the node puts on its tensor when the graph runs; whoever makes a backward graph of that one calls it there.
// A hook that does anything else than compute a gradient from a gradient is put there in Python.
#include "library/tensor_hooks.h"

#include <algorithm>
#include <unordered_map>

#include "model/abstract.h"
#include "model/native_call.h"
#include "model/tensor_call.h"
#include "python/out_of_memory.h"
#include "tensor/tensor_facts.h"
#include "world/known_types.h"
#include "world/types.h"

namespace minidynamo {
namespace {

std::nullptr_t refuse_hook(Tracer& tracer) {
  return tracer.give_up(BreakReason::AutogradCall, "a hook is put on a tensor");
}

// Whether nobody asks for what the call gives.
bool is_result_dropped(const Frame& frame) {
  if (frame.current().op != Op::CALL) return false;
  const int32_t at = frame.instruction + 1;
  const Instruction& next = frame.prepared->bytecode.instructions[at];
  if (next.op == Op::POP_TOP) return true;
  return next.op == Op::STORE_FAST && !frame.prepared->liveness().before(at + 1, next.arg);
}

// Whether all that a function of the trace's own holds is known not to change under it: what it might change is seen
// then, or is no object of the trace's own.
bool holds_only_settled(Tracer& tracer, PyObject* object, int depth = 4) {
  if (is_constant(object) || is_fake(object) || tracer.world.source_of(object)) return true;
  if (!PyFunction_Check(object) || depth == 0) return false;
  auto* function = reinterpret_cast<PyFunctionObject*>(object);
  auto all_in = [&](PyObject* tuple) {
    for (Py_ssize_t i = 0; tuple && i < PyTuple_GET_SIZE(tuple); ++i) {
      PyObject* item = PyTuple_GET_ITEM(tuple, i);
      if (PyCell_Check(item)) item = PyCell_GET(item);
      if (!item || !holds_only_settled(tracer, item, depth - 1)) return false;
    }
    return true;
  };
  return !function->func_kwdefaults && all_in(function->func_closure) && all_in(function->func_defaults);
}

size_t changed_containers(Tracer& tracer) {
  const auto& all = tracer.world.stand_ins();
  return std::count_if(all.begin(), all.end(),
                       [&](const StandIn& stand_in) { return stand_in.filled && tracer.world.is_changed(stand_in); });
}

// A copy of what nodes from `first` on compute from a gradient.
class HookGraph {
 public:
  HookGraph(const Graph& of, NodeId gradient) : of_(of), gradient_(gradient) {}

  // False: that is not known, or nothing that depends on the gradient.
  bool copy(NodeId result) {
    std::vector<bool> needed(of_.nodes().size());
    needed[result] = true;
    for (NodeId id = result; id > gradient_; --id) {
      if (!needed[id]) continue;
      const Node& node = of_.nodes()[id];
      for (const Argument& argument : node.args) mark(argument, needed);
      for (const auto& [name, argument] : node.kwargs) mark(argument, needed);
    }
    if (!needed[gradient_]) return false;
    graph_.add_placeholder("gradient", of_.nodes()[gradient_].example);
    for (NodeId id = 0; id <= result; ++id)
      if (needed[id] && (id < gradient_ || of_.nodes()[id].kind == NodeKind::Placeholder)) take_from_outside(id);
    for (NodeId id = gradient_ + 1; id <= result; ++id)
      if (needed[id] && of_.nodes()[id].kind != NodeKind::Placeholder && !copy_call(of_.nodes()[id])) return false;
    const NodeId output = graph_.producer(of_.nodes()[result].example.get());
    if (output == kNoNode) return false;
    outputs_ = {output};
    graph_.remove_dead_code(outputs_);
    return true;
  }

  const std::vector<Ref>& captured() const noexcept { return captured_; }
  Ref module() const { return to_graph_module(graph_, outputs_, "hook"); }

 private:
  const Graph& of_;
  const NodeId gradient_;
  Graph graph_;
  std::vector<NodeId> outputs_;
  std::vector<Ref> captured_;  // tensors of the outer graph that the hook uses

  void mark(const Argument& argument, std::vector<bool>& needed) {
    if (argument.kind == Argument::Kind::Node) needed[argument.node] = true;
    for (const Argument& item : argument.items) mark(item, needed);
  }

  void take_from_outside(NodeId id) {
    const Ref& example = of_.nodes()[id].example;
    captured_.push_back(example);
    graph_.add_placeholder("captured_" + std::to_string(captured_.size()), example);
  }

  bool copy_call(const Node& node) {
    if (node.element) return true;  // made with its call
    Ref args = Ref::made(PyTuple_New(static_cast<Py_ssize_t>(node.args.size())));
    for (size_t i = 0; i < node.args.size(); ++i)
      PyTuple_SET_ITEM(args.get(), static_cast<Py_ssize_t>(i), object_of(node.args[i]).release());
    Ref kwargs = node.kwargs.empty() ? Ref() : Ref::made(PyDict_New());
    for (const auto& [name, argument] : node.kwargs)
      if (PyDict_SetItem(kwargs.get(), name.get(), object_of(argument).get()) < 0) return false;
    return graph_.add_call(node.kind, node.target, args.get(), kwargs.get(), node.example.get(), false, node.site) !=
           kNoNode;
  }

  Ref object_of(const Argument& argument) const {
    using Kind = Argument::Kind;
    if (argument.kind == Kind::Node) return of_.nodes()[argument.node].example;
    if (argument.kind == Kind::Constant) return argument.constant;
    Ref items = Ref::made(PyTuple_New(static_cast<Py_ssize_t>(argument.items.size())));
    for (size_t i = 0; i < argument.items.size(); ++i)
      PyTuple_SET_ITEM(items.get(), static_cast<Py_ssize_t>(i), object_of(argument.items[i]).release());
    auto item = [&](Py_ssize_t i) { return PyTuple_GET_ITEM(items.get(), i); };
    switch (argument.kind) {
      case Kind::List:
        return Ref::made(PySequence_List(items.get()));
      case Kind::Slice:
        return Ref::made(PySlice_New(item(0), item(1), item(2)));
      case Kind::Dict: {
        Ref dict = Ref::made(PyDict_New());
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i)
          PyDict_SetItem(dict.get(), PyTuple_GET_ITEM(argument.constant.get(), i), item(i));
        return dict;
      }
      default:
        return argument.constant ? Ref::made(PyObject_CallObject(argument.constant.get(), items.get())) : items;
    }
  }
};

bool only_computes(const Graph& graph, NodeId from) {
  return std::none_of(graph.nodes().begin() + from, graph.nodes().end(),
                      [](const Node& node) { return node.impure || node.sets_mode || node.checks; });
}

bool are_alike(PyObject* left, PyObject* right) {
  for (const char* name : {"shape", "dtype", "device"}) {
    const Ref one = Ref::steal(PyObject_GetAttrString(left, name)),
              other = Ref::steal(PyObject_GetAttrString(right, name));
    if (!one || !other || PyObject_RichCompareBool(one.get(), other.get(), Py_EQ) != 1) return clear_error(), false;
  }
  return true;
}

// The hook is called by C code, as it will be: where it breaks the trace, the trace ends before register_hook().
Ref put_hook_in_graph(Tracer& tracer, PyObject* tensor, PyObject* hook) {
  static PyObject* const detach_name = interned("detach");
  static constinit Imported as_hook{"minidynamo._tensor_hooks.as_hook"};
  static constinit Imported register_hook{"minidynamo._tensor_hooks.register_hook"};
  if (!holds_only_settled(tracer, hook)) return refuse_hook(tracer);
  const NodeId from = static_cast<NodeId>(tracer.graph.nodes().size());
  const size_t changes = tracer.effects.changes(), effects = tracer.effects.end(), changed = changed_containers(tracer);
  const Ref own = Ref::borrow(tensor);
  const Ref gradient = record_call(tracer, NodeKind::CallMethod, detach_name, Arguments{std::span(&own, 1)});
  if (!gradient) return nullptr;
  const Ref result = call_natively(tracer, hook, Arguments{std::span(&gradient, 1)});
  if (tracer.broken()) return nullptr;
  const bool is_known = result && tracer.effects.changes() == changes && tracer.effects.end() == effects &&
                        changed_containers(tracer) == changed && only_computes(tracer.graph, from);
  if (!is_known) return clear_error(), refuse_hook(tracer);
  if (result.is(Py_None)) return result;  // it does nothing at all
  const NodeId node = is_fake(result.get()) ? tracer.graph.producer(result.get()) : kNoNode;
  if (node == kNoNode || !are_alike(result.get(), tensor)) return refuse_hook(tracer);
  if (node == from) return Ref::none();
  HookGraph copied(tracer.graph, from);
  if (node < from || !copied.copy(node)) return clear_error(), refuse_hook(tracer);
  Ref run;
  {
    const NativeScope not_the_program;
    const TensorTraceSuspended nor_its_tensors;
    if (const Ref module = copied.module()) run = Ref::steal(PyObject_CallOneArg(as_hook, module.get()));
  }
  if (!run) return clear_error(), refuse_hook(tracer);
  std::vector<Ref> values = {own, run};
  values.insert(values.end(), copied.captured().begin(), copied.captured().end());
  return record_node(tracer, NodeKind::CallFunction, register_hook, Arguments{values}, Py_None, true) ? Ref::none()
                                                                                                      : Ref();
}

}  // namespace

Ref special::tensor_register_hook(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  static PyObject* const requires_name = interned("requires_grad");
  const bool is_plain = arguments.values.size() == 2 && !arguments.keyword_names && arguments.is_direct &&
                        is_fake(arguments.values[0].get()) && is_result_dropped(*tracer.frame);
  if (!is_plain) return refuse_hook(tracer);
  PyObject *tensor = arguments.values[0].get(), *hook = arguments.values[1].get();
  const Ref required = Ref::steal(PyObject_GetAttr(tensor, requires_name));
  if (!required.is(Py_True) || tracer.written_storages.count(storage_of_fake(tensor))) return refuse_hook(tracer);
  if (!tracer.world.source_of(tensor)) return put_hook_in_graph(tracer, tensor, hook);
  if (!is_leaf_with_gradient(tensor)) return refuse_hook(tracer);
  tracer.effects.call_later({Ref::borrow(callable), arguments.positional(), nullptr}, tracer.effects.end());
  return Ref::none();
}

}  // namespace minidynamo
