// The graph that a trace records: a list of nodes in execution order, in FX's vocabulary.
//
// A fake tensor is the name of the node that made it: `producer()` maps one to the other by address, and the graph owns
// every fake that it knows, so an address stays true for the graph's life. Knows nothing of LibTorch, of sources or of
// frames.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "python/ref.h"

namespace minidynamo {

using NodeId = uint32_t;
inline constexpr NodeId kNoNode = UINT32_MAX;

enum class NodeKind : uint8_t { Placeholder, CallFunction, CallMethod };

// Where in the user's program a node was recorded: a chain of call sites, shared between nodes.
struct CallSite {
  PyCodeObject* code;  // kept alive by `owner`
  int32_t line;
  std::shared_ptr<const CallSite> caller;  // null at the root frame
  Ref owner;
};

// An argument: a node's value, a constant, a container of arguments, or a graph that the call runs (subgraph.h).
struct Argument {
  enum class Kind : uint8_t { Node, Constant, Tuple, List, Dict, Slice, Subgraph };
  Kind kind;
  NodeId node = kNoNode;
  // Constant: the object; Dict: tuple of the keys; Tuple: the class, if it is a named tuple; Subgraph: what stands for
  // it among Python objects
  Ref constant;
  std::vector<Argument> items;  // Dict: the values; Slice: start, stop, step
};

struct Node {
  NodeKind kind;
  Ref target;  // callable, or str for CallMethod (the method's name) and Placeholder (its source's text)
  std::vector<Argument> args;
  std::vector<std::pair<Ref, Argument>> kwargs;
  Ref example;             // its result: a fake, or a container with fakes
  bool impure = false;     // writes to an argument or draws random numbers, or a placeholder for one: never removed
  bool sets_mode = false;  // changes torch's thread-local modes, which the graph puts back: alone it is no graph
  bool checks = false;     // raises, or does nothing at all: never removed, and may run again
  bool element = false;    // made by the graph itself: an element of a call's result, or a size
  bool parameter = false;  // Placeholder: of the body that is being recorded (subgraph.h), no input of this graph
  bool used = false;       // after remove_dead_code()
  int32_t input = -1;      // Placeholder: position in the compiled function's arguments, set by remove_dead_code()
  uint32_t region = 0;     // the MarkedRegion that the call belongs to; 0: none
  std::shared_ptr<const CallSite> site;
};

struct Subgraph;

class Graph {
 public:
  // A placeholder for a fake that stands for an external tensor. `name` is the source's text:
  // L['self'].layers[0].weight
  NodeId add_placeholder(const std::string& name, Ref fake);

  // The same for what has to be asked for whether the graph uses it or not.
  NodeId add_drawn_input(const std::string& name, Ref fake);

  // Records a call. Fakes in args (a tuple) and kwargs (a dict or null), at any depth of list/tuple/dict/slice, become
  // edges, the rest constants. Fakes in `result` get this node (or a getitem node per element of a tuple or list) as
  // producer, unless they have one already (in-place operations return their argument). kNoNode with a Python error
  // (TypeError naming the argument) if something cannot stand in a graph.
  NodeId add_call(NodeKind kind, Ref target, PyObject* args, PyObject* kwargs, PyObject* result, bool impure,
                  std::shared_ptr<const CallSite> site);

  // Records what computes a number that may differ at the next call, `number` (a torch.SymInt); no call of the
  // program's.
  NodeId add_number(Ref target, PyObject* args, const Ref& number, std::shared_ptr<const CallSite> site);
  // Makes an argument of such a number: a node, for which it may record others, or a constant. False with a Python
  // error set.
  std::function<bool(PyObject* number, Argument& out)> number_argument;

  // Where the last node made a tensor like its first argument, and nothing else of it, for what this call writes to all
  // of it: makes both one node, which calls `together` with that argument and the call's others. False: it is not so.
  bool fill_last(PyObject* maker, PyObject* together, PyObject* args);

  // A placeholder of the body that is recorded from here on: what its caller will give it.
  NodeId add_parameter(const std::string& name, Ref fake);

  // Takes the calls that were recorded since there were `start` nodes out of this graph, into one of their own, which
  // returns `output` (fakes, None, and tuples of them). Inputs that came in meanwhile stay here; fakes that the body
  // made have no producer any more. Null with a Python error (TypeError) if it uses or returns a value that cannot be
  // an input of a graph.
  std::unique_ptr<Subgraph> take_from(NodeId start, PyObject* output);

  // Makes an object that is no tensor stand for a node's value: one that a recorded call opens and another closes.
  void stand_for(PyObject* object, NodeId node) { producers_.insert_or_assign(object, node); }

  void mark_last_as_mode() { nodes_.back().sets_mode = true; }
  void mark_last_as_check() { nodes_.back().checks = true; }

  NodeId producer(PyObject* fake) const noexcept;  // kNoNode if unknown
  // The same, or the node of a tensor that is the same to whoever computes with it: what autograd has saved comes back
  // as another object.
  NodeId origin(PyObject* fake) const;
  // True if whoever computes with a tensor asks for no more than what lies in its memory: the graph runs without
  // autograd.
  bool below_autograd = false;

  const std::vector<Node>& nodes() const noexcept { return nodes_; }
  bool has_marked_regions() const noexcept { return marked_regions_ > 0; }
  // Recorded calls, without placeholders and elements of results; after remove_dead_code() the used ones.
  size_t call_count() const noexcept { return call_count_; }

  // True if no used node writes to anything or draws random numbers. After remove_dead_code().
  bool is_pure() const noexcept;
  bool sets_modes() const noexcept;
  // True if a used node calls `function` with that constant alone; and whether the first call is one of `function`.
  bool calls(PyObject* function, PyObject* constant) const noexcept;
  // The constant that the last call of a function of one argument gets; null: there is no such call.
  PyObject* last_given_to(PyObject* function) const noexcept;
  bool begins_with(PyObject* function) const noexcept;

  // Keeps what the outputs or impure nodes need; sets Node::used and numbers the used placeholders in order.
  void remove_dead_code(const std::vector<NodeId>& outputs);

  std::string to_text() const;

 private:
  friend struct Subgraph;
  friend class MarkedRegion;
  std::vector<Node> nodes_;
  std::unordered_map<PyObject*, NodeId> producers_;
  std::unordered_map<const void*, std::vector<PyObject*>> by_storage_;  // the tensors that have a producer
  size_t call_count_ = 0;
  uint32_t marked_regions_ = 0, marked_region_ = 0;  // how many there are; the one that is being recorded, or 0
  bool argument_of(PyObject* object, Argument& out) const;
  bool items_of(PyObject* const* objects, Py_ssize_t count, Argument& out) const;
  bool tuple_argument(PyObject* tuple, Argument& out) const;
  bool dict_argument(PyObject* dict, Argument& out) const;
  void set_producer(PyObject* fake, NodeId node);
  bool produce(PyObject* result, NodeId node, const std::shared_ptr<const CallSite>& site);
  bool produce_element(PyObject* key, PyObject* element, NodeId node, const std::shared_ptr<const CallSite>& site);
  int has_new_fake(PyObject* result) const;
};

// The calls that are recorded while it exists are one call of a function that the program wants to be compiled once
// (torch.compiler.nested_compile_region). One within another is a part of that.
class MarkedRegion {
 public:
  explicit MarkedRegion(Graph& graph) noexcept : graph_(graph), outer_(graph.marked_region_) {
    if (!outer_) graph_.marked_region_ = ++graph_.marked_regions_;
  }
  MarkedRegion(const MarkedRegion&) = delete;
  MarkedRegion& operator=(const MarkedRegion&) = delete;
  ~MarkedRegion() { graph_.marked_region_ = outer_; }

 private:
  Graph& graph_;
  const uint32_t outer_;
};

// A torch.fx.GraphModule with the used nodes (placeholders first), returning a tuple of the outputs: node.meta has
// "example_value", "tensor_meta", "stack_trace", "source_fn_stack", placeholders "source" (text). Its Python source is
// generated only when somebody runs or prints it. Its class is called GraphModule; `name` is kept as gm.meta["name"].
// `before`: a call that comes before all others, of constants. Null with a Python error set on failure.
Ref to_graph_module(const Graph& graph, const std::vector<NodeId>& outputs, const std::string& name,
                    const Node* before = nullptr);

}  // namespace minidynamo
