// Export: the recorded graph as a torch.fx.GraphModule, made through torch.fx's own Python classes.
//
// Nodes are made by the Node class and entered into the graph as torch.fx.Graph.create_node does, without its search
// for symbolic values in every argument, which is most of that function's time. What generated source cannot say (a
// function or a class as an argument) becomes an attribute of the module and a get_attr node; a target that source
// cannot reach is wrapped.
#include <cctype>
#include <initializer_list>
#include <string_view>

#include "graph/constant.h"
#include "graph/graph.h"
#include "graph/node_metadata.h"
#include "graph/pieces.h"
#include "graph/subgraph.h"
#include "python/named_item.h"
#include "python/process/out_of_memory.h"
#include "tensor/fake/fake.h"

namespace minidynamo {
namespace {

Ref attribute(PyObject* object, const char* name) { return Ref::steal(PyObject_GetAttrString(object, name)); }

Ref import_attribute(const char* module_name, const char* name) {
  Ref module = Ref::steal(PyImport_ImportModule(module_name));
  return module ? attribute(module.get(), name) : Ref();
}

Ref call(PyObject* callable, std::initializer_list<PyObject*> arguments) {
  for (PyObject* argument : arguments) {
    if (!argument) return nullptr;  // making it failed, with an error set
  }
  return Ref::steal(PyObject_Vectorcall(callable, arguments.begin(), arguments.size(), nullptr));
}

Ref text(const char* characters) { return Ref::made(PyUnicode_FromString(characters)); }

// L['self'].layers[0].weight -> l_self_layers_0_weight
std::string identifier(const std::string& source) {
  std::string name;
  for (unsigned char c : source) {
    if (c < 128 && std::isalnum(c)) {
      name.push_back(static_cast<char>(std::tolower(c)));
    } else if (name.empty() || name.back() != '_') {
      name.push_back('_');
    }
  }
  return name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) ? '_' + name : name;
}

// The name of a function of the operator module, null for other callables.
const char* operator_name(PyObject* callable) noexcept {
  if (!PyCFunction_Check(callable)) return nullptr;
  auto* function = as_builtin(callable);
  const bool is_operator = function->m_module && PyUnicode_Check(function->m_module) &&
                           PyUnicode_CompareWithASCIIString(function->m_module, "_operator") == 0;
  return is_operator ? function->m_ml->ml_name : nullptr;
}

class Exporter {
 public:
  explicit Exporter(const Graph& graph, const Node* before = nullptr)
      : graph_(graph), before_(before), nodes_(graph.nodes().size()) {}
  Ref run(const std::vector<NodeId>& outputs, const std::string& name);
  Ref run(const Subgraph& subgraph, const std::string& name);
  Ref run(const Piece& piece, const std::string& name);

 private:
  struct Target {
    Ref callable;   // the function that the exported node calls, or the name of a method
    Ref candidate;  // for the node's name
  };

  const Graph& graph_;
  const Node* before_;      // a call that comes before all others; may be null
  std::vector<Ref> nodes_;  // by NodeId; null for unused ones
  Ref fx_graph_, node_class_, create_name_, associate_name_, insert_, table_insert_;
  Ref qualified_name_, is_from_torch_, partial_, in_place_operators_;
  Ref custom_operator_;  // the class of their definitions; null: this torch has none
  Ref call_function_, call_method_, empty_tuple_, empty_dict_;
  Ref key_example_, key_tensor_, key_stack_, key_source_;
  Ref attributes_;                                      // dict: name -> object, what get_attr nodes read
  std::unordered_map<PyObject*, Ref> attribute_nodes_;  // by the object, which the graph keeps
  std::unordered_map<PyObject*, Target> targets_;
  Py_ssize_t length_ = 0;
  StackTraces stack_traces_;
  TensorMetadata tensor_metadata_;

  bool load();
  // A null target: the node's own name.
  Ref add_node(PyObject* op, PyObject* target, PyObject* candidate, PyObject* args, PyObject* kwargs);
  Ref add_attribute(PyObject* object);
  Ref add_attribute(PyObject* object, PyObject* key, Ref name);
  Ref add_subgraph(PyObject* object);
  bool add_placeholder(NodeId id, const Ref& source);
  Ref call_node(const Node& node);
  bool set_meta(PyObject* fx_node, const Node& node);
  const Target* target_of(PyObject* callable);
  const Target* method_of(PyObject* name);
  bool reachable(PyObject* callable);
  Ref wrap(PyObject* callable, PyObject* candidate);
  Ref argument(const Argument& argument, bool only_literals);
  Ref printable(const Node& node, const Target& target);
  bool add_nodes();
  bool finish(PyObject* results);
  bool finish(const std::vector<NodeId>& outputs);
  Ref module_of(const std::string& name);
};

bool Exporter::load() {
  custom_operator_ = import_attribute("torch._library.custom_ops", "CustomOpDef");
  clear_error();
  Ref graph_class = import_attribute("torch.fx", "Graph");
  node_class_ = graph_class ? import_attribute("torch.fx", "Node") : Ref();
  if (!node_class_) return false;
  fx_graph_ = call(graph_class.get(), {});
  Ref names = fx_graph_ ? attribute(fx_graph_.get(), "_graph_namespace") : Ref();
  Ref table = names ? attribute(fx_graph_.get(), "_find_nodes_lookup_table") : Ref();
  if (!table) return false;
  return (create_name_ = attribute(names.get(), "create_name")) &&
         (associate_name_ = attribute(names.get(), "associate_name_with_obj")) &&
         (insert_ = attribute(fx_graph_.get(), "_insert")) && (table_insert_ = attribute(table.get(), "insert")) &&
         (qualified_name_ = import_attribute("torch.fx.node", "_get_qualified_name")) &&
         (is_from_torch_ = import_attribute("torch.fx.graph", "_is_from_torch")) &&
         (in_place_operators_ = import_attribute("torch.fx.graph", "inplace_methods")) &&
         (partial_ = import_attribute("functools", "partial")) && (call_function_ = text("call_function")) &&
         (call_method_ = text("call_method")) && (empty_tuple_ = Ref::made(PyTuple_New(0))) &&
         (empty_dict_ = Ref::made(PyDict_New())) && (attributes_ = Ref::made(PyDict_New())) &&
         (key_example_ = text("example_value")) && (key_tensor_ = text("tensor_meta")) &&
         (key_stack_ = text("stack_trace")) && (key_source_ = text("source_fn_stack"));
}

Ref Exporter::add_node(PyObject* op, PyObject* target, PyObject* candidate, PyObject* args, PyObject* kwargs) {
  Ref name = call(create_name_.get(), {candidate, Py_None});
  if (!name) return nullptr;
  if (!target) target = name.get();
  Ref node = call(node_class_.get(), {fx_graph_.get(), name.get(), op, target, args, kwargs});
  if (!node || !call(associate_name_.get(), {name.get(), node.get()}) || !call(insert_.get(), {node.get()}) ||
      !call(table_insert_.get(), {node.get()})) {
    return nullptr;
  }
  ++length_;
  return node;
}

// The node that reads an object which has no source of its own from the module.
Ref Exporter::add_attribute(PyObject* object) {
  if (auto found = attribute_nodes_.find(object); found != attribute_nodes_.end()) return found->second;
  return add_attribute(object, object,
                       Ref::made(PyUnicode_FromFormat("constant_%zd", PyDict_GET_SIZE(attributes_.get()))));
}

Ref Exporter::add_attribute(PyObject* object, PyObject* key, Ref name) {
  Ref op = text("get_attr");
  if (!op || PyDict_SetItem(attributes_.get(), name.get(), object) < 0) return nullptr;
  Ref node = add_node(op.get(), name.get(), name.get(), empty_tuple_.get(), empty_dict_.get());
  if (node) attribute_nodes_.emplace(key, node);
  return node;
}

// The node that reads the module of a graph which a call runs.
Ref Exporter::add_subgraph(PyObject* object) {
  if (auto found = attribute_nodes_.find(object); found != attribute_nodes_.end()) return found->second;
  const Subgraph& subgraph = *subgraph_of(object);
  std::string name;
  for (int number = 0;; ++number) {
    name = subgraph.name + '_' + std::to_string(number);
    if (!named_item(attributes_.get(), name.c_str())) break;
  }
  Ref module = Exporter(subgraph.graph).run(subgraph, name);
  return module ? add_attribute(module.get(), object, text(name.c_str())) : Ref();
}

Ref Exporter::argument(const Argument& argument, bool only_literals) {
  switch (argument.kind) {
    case Argument::Kind::Node:
      return nodes_[argument.node];
    case Argument::Kind::Constant: {
      PyObject* constant = argument.constant.get();
      const ConstantForm form = constant_form(constant);
      const bool has_source = form == ConstantForm::Literal || (form == ConstantForm::Named && !only_literals);
      return has_source ? argument.constant : add_attribute(constant);
    }
    case Argument::Kind::Subgraph:
      return add_subgraph(argument.constant.get());
    case Argument::Kind::Slice: {
      Ref start = this->argument(argument.items[0], only_literals);
      Ref stop = start ? this->argument(argument.items[1], only_literals) : Ref();
      Ref step = stop ? this->argument(argument.items[2], only_literals) : Ref();
      return step ? Ref::made(PySlice_New(start.get(), stop.get(), step.get())) : Ref();
    }
    case Argument::Kind::Dict: {
      Ref dict = Ref::made(PyDict_New());
      for (size_t i = 0; i < argument.items.size(); ++i) {
        Ref value = this->argument(argument.items[i], true);
        PyObject* key = PyTuple_GET_ITEM(argument.constant.get(), static_cast<Py_ssize_t>(i));
        if (!value || PyDict_SetItem(dict.get(), key, value.get()) < 0) return nullptr;
      }
      return dict;
    }
    case Argument::Kind::Tuple:
    case Argument::Kind::List: {
      const bool named = argument.kind == Argument::Kind::Tuple && argument.constant;
      Ref tuple = Ref::made(PyTuple_New(static_cast<Py_ssize_t>(argument.items.size())));
      for (size_t i = 0; i < argument.items.size(); ++i) {
        Ref item = this->argument(argument.items[i], only_literals || named);
        if (!item) return nullptr;
        PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), item.release());
      }
      if (named) return Ref::steal(PyObject_CallObject(argument.constant.get(), tuple.get()));
      return argument.kind == Argument::Kind::List ? Ref::steal(PySequence_List(tuple.get())) : tuple;
    }
  }
  PyErr_SetString(PyExc_SystemError, "unknown kind of graph argument");
  return nullptr;
}

// True if the source that torch.fx writes for a callable, a dotted name for one of torch's, evaluates to that callable.
// False without a Python error if not.
bool Exporter::reachable(PyObject* callable) {
  Ref name = call(qualified_name_.get(), {callable});
  Ref from_torch = name ? call(is_from_torch_.get(), {callable}) : Ref();
  if (!from_torch) {
    clear_error();
    return false;
  }
  if (!from_torch.is(Py_True)) {
    // Any name will do for a global of the generated function, but torch.fx asks a lambda for its source.
    Ref own_name = attribute(callable, "__name__");
    clear_error();
    return own_name && PyUnicode_Check(own_name.get()) &&
           PyUnicode_CompareWithASCIIString(own_name.get(), "<lambda>") != 0;
  }
  Ref dot = text(".");
  Ref parts = dot ? Ref::steal(PyUnicode_Split(name.get(), dot.get(), -1)) : Ref();
  Ref object = parts ? Ref::steal(PyImport_ImportModule("torch")) : Ref();
  for (Py_ssize_t i = 1; object && i < PyList_GET_SIZE(parts.get()); ++i) {
    object = Ref::steal(PyObject_GetAttr(object.get(), PyList_GET_ITEM(parts.get(), i)));
  }
  const bool same = object && PyObject_RichCompareBool(object.get(), callable, Py_EQ) == 1;
  clear_error();
  return same;
}

Ref Exporter::wrap(PyObject* callable, PyObject* candidate) {
  Ref wrapped = call(partial_.get(), {callable});
  Ref module_name = text("minidynamo");
  if (!wrapped || !module_name || PyObject_SetAttrString(wrapped.get(), "__name__", candidate) < 0 ||
      PyObject_SetAttrString(wrapped.get(), "__qualname__", candidate) < 0 ||
      PyObject_SetAttrString(wrapped.get(), "__module__", module_name.get()) < 0) {
    return nullptr;
  }
  return wrapped;
}

const Exporter::Target* Exporter::target_of(PyObject* callable) {
  if (auto found = targets_.find(callable); found != targets_.end()) return &found->second;
  Target target{Ref::borrow(callable), {}};
  // A custom operator's definition is a callable object without a name; what it calls is an ordinary operator.
  if (custom_operator_) {
    const int is_definition = PyObject_IsInstance(callable, custom_operator_.get());
    if (is_definition > 0) target.callable = attribute(callable, "_opoverload");
    if (is_definition < 0 || !target.callable) return nullptr;
  }
  target.candidate = Ref::steal(PyObject_CallMethod(fx_graph_.get(), "_target_to_str", "O", target.callable.get()));
  const char* name = target.candidate ? PyUnicode_AsUTF8(target.candidate.get()) : nullptr;
  if (!name) clear_error();
  if (!name || !PyUnicode_IsIdentifier(target.candidate.get())) {
    // No name at all, or one like sin.default or <lambda>.
    target.candidate = text(identifier(name ? name : Py_TYPE(callable)->tp_name).c_str());
  }
  if (target.candidate && !reachable(target.callable.get())) {
    target.callable = wrap(target.callable.get(), target.candidate.get());
  }
  if (!target.candidate || !target.callable) return nullptr;
  return &targets_.emplace(callable, std::move(target)).first->second;
}

const Exporter::Target* Exporter::method_of(PyObject* name) {
  if (auto found = targets_.find(name); found != targets_.end()) return &found->second;
  Target target{Ref::borrow(name), Ref::steal(PyObject_CallMethod(fx_graph_.get(), "_target_to_str", "O", name))};
  return target.candidate ? &targets_.emplace(name, std::move(target)).first->second : nullptr;
}

// torch.fx prints operators of the operator module as statements, which is not always what they do: -2 ** x is -(2 **
// x), and there is no 5 += x. The callable to export instead of such a target.
Ref Exporter::printable(const Node& node, const Target& target) {
  if (node.args.empty() || node.args[0].kind == Argument::Kind::Node) return target.callable;
  const char* name = operator_name(target.callable.get());
  if (!name) return target.callable;
  if (std::string_view(name) == "pow") return import_attribute("torch", "pow");  // as Tensor.__rpow__ does
  const bool in_place = PyMapping_HasKeyString(in_place_operators_.get(), name);
  return in_place ? wrap(target.callable.get(), target.candidate.get()) : target.callable;
}

bool Exporter::add_placeholder(NodeId id, const Ref& source) {
  const Node& node = graph_.nodes()[id];
  const char* characters = PyUnicode_AsUTF8(source.get());
  Ref op = characters ? text("placeholder") : Ref();
  Ref candidate = op ? text(identifier(characters).c_str()) : Ref();
  if (!candidate) return false;
  nodes_[id] = add_node(op.get(), nullptr, candidate.get(), empty_tuple_.get(), empty_dict_.get());
  Ref meta = nodes_[id] ? attribute(nodes_[id].get(), "meta") : Ref();
  return meta && PyDict_SetItemString(meta.get(), "source", source.get()) == 0 && set_meta(nodes_[id].get(), node);
}

Ref Exporter::call_node(const Node& node) {
  const bool is_method = node.kind == NodeKind::CallMethod;
  const Target* target = is_method ? method_of(node.target.get()) : target_of(node.target.get());
  const Ref callable = !target ? Ref() : is_method ? target->callable : printable(node, *target);
  if (!callable) return nullptr;

  Ref args = Ref::made(PyTuple_New(static_cast<Py_ssize_t>(node.args.size())));
  for (size_t i = 0; i < node.args.size(); ++i) {
    Ref value = argument(node.args[i], false);
    if (!value) return nullptr;
    PyTuple_SET_ITEM(args.get(), static_cast<Py_ssize_t>(i), value.release());
  }
  Ref kwargs = node.kwargs.empty() ? empty_dict_ : Ref::made(PyDict_New());
  for (const auto& [name, value] : node.kwargs) {
    Ref exported = argument(value, false);
    if (!exported || PyDict_SetItem(kwargs.get(), name.get(), exported.get()) < 0) return nullptr;
  }
  Ref made = add_node(is_method ? call_method_.get() : call_function_.get(), callable.get(), target->candidate.get(),
                      args.get(), kwargs.get());
  return made && set_meta(made.get(), node) ? made : Ref();
}

bool Exporter::set_meta(PyObject* fx_node, const Node& node) {
  const Ref meta = Ref::steal(PyObject_GetAttr(fx_node, "meta"_name));
  if (!meta) return false;
  auto set = [&](const Ref& key, const Ref& value) {
    return value && PyDict_SetItem(meta.get(), key.get(), value.get()) == 0;
  };
  if (!set(key_example_, node.example)) return false;
  if (is_fake(node.example.get())) {
    // A tensor that has no strides to tell has no such record; it can be captured all the same.
    if (Ref record = tensor_metadata_.of(node.example.get())) {
      if (!set(key_tensor_, record)) return false;
    } else {
      clear_error();
    }
  }
  if (node.kind == NodeKind::Placeholder) return true;
  const Ref name = Ref::steal(PyObject_GetAttr(fx_node, "name"_name));
  Ref entry = name ? Ref::made(PyTuple_Pack(2, name.get(), node.target.get())) : Ref();
  Ref stack = entry ? Ref::made(PyList_New(1)) : Ref();
  if (!stack) return false;
  PyList_SET_ITEM(stack.get(), 0, entry.release());
  return set(key_source_, stack) && (!node.site || set(key_stack_, stack_traces_.of(node.site)));
}

// A module whose source is generated on first use. Profilers and tracebacks show the function that was traced.
Ref Exporter::module_of(const std::string& name) {
  for (const Node& node : graph_.nodes()) {
    if (!node.site) continue;
    const CallSite* root = node.site.get();
    while (root->caller) root = root->caller.get();
    Ref fields = attribute(fx_graph_.get(), "_co_fields");
    Ref line = Ref::made(PyLong_FromLong(root->code->co_firstlineno));
    if (!fields || PyDict_SetItemString(fields.get(), "co_name", root->code->co_name) < 0 ||
        PyDict_SetItemString(fields.get(), "co_filename", root->code->co_filename) < 0 ||
        PyDict_SetItemString(fields.get(), "co_firstlineno", line.get()) < 0) {
      return nullptr;
    }
    break;
  }
  Ref module_class = import_attribute("minidynamo._capture.graph_source", "CapturedGraphModule");
  Ref class_name = module_class ? text("GraphModule") : Ref();
  if (!class_name) return nullptr;
  Ref module = call(module_class.get(), {attributes_.get(), fx_graph_.get(), class_name.get()});
  Ref meta = module ? attribute(module.get(), "meta") : Ref();
  Ref own_name = meta ? text(name.c_str()) : Ref();
  if (!own_name || PyDict_SetItemString(meta.get(), "name", own_name.get()) < 0) return nullptr;
  return module;
}

bool Exporter::add_nodes() {
  const auto& nodes = graph_.nodes();
  for (NodeId id = 0; id < nodes.size(); ++id) {
    if (nodes[id].used && nodes[id].kind == NodeKind::Placeholder && !add_placeholder(id, nodes[id].target))
      return false;
  }
  if (before_ && !call_node(*before_)) return false;
  for (NodeId id = 0; id < nodes.size(); ++id) {
    if (!nodes[id].used || nodes[id].kind == NodeKind::Placeholder) continue;
    nodes_[id] = call_node(nodes[id]);
    if (!nodes_[id]) return false;
  }
  return true;
}

bool Exporter::finish(PyObject* results) {
  Ref output = text("output");
  Ref args = output ? Ref::made(PyTuple_Pack(1, results)) : Ref();
  if (!args || !add_node(output.get(), output.get(), output.get(), args.get(), empty_dict_.get())) return false;
  Ref length = Ref::made(PyLong_FromSsize_t(length_));
  return PyObject_SetAttrString(fx_graph_.get(), "_len", length.get()) == 0;
}

bool Exporter::finish(const std::vector<NodeId>& outputs) {
  Ref results = Ref::made(PyTuple_New(static_cast<Py_ssize_t>(outputs.size())));
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] >= nodes_.size() || !nodes_[outputs[i]]) {
      PyErr_SetString(PyExc_ValueError, "an output of the graph is not among its used nodes");
      return false;
    }
    PyTuple_SET_ITEM(results.get(), static_cast<Py_ssize_t>(i), Ref(nodes_[outputs[i]]).release());
  }
  return finish(results.get());
}

Ref Exporter::run(const std::vector<NodeId>& outputs, const std::string& name) {
  if (!load() || !add_nodes()) return nullptr;
  return finish(outputs) ? module_of(name) : Ref();
}

Ref Exporter::run(const Piece& piece, const std::string& name) {
  if (!load()) return nullptr;
  for (size_t i = 0; i < piece.inputs.size(); ++i) {
    const Node& node = graph_.nodes()[piece.inputs[i]];
    const bool is_input = node.kind == NodeKind::Placeholder;
    if (!add_placeholder(piece.inputs[i], is_input ? node.target : text(("value_" + std::to_string(i)).c_str())))
      return nullptr;
  }
  for (const NodeId id : piece.calls)
    if (!(nodes_[id] = call_node(graph_.nodes()[id]))) return nullptr;
  return finish(piece.outputs) ? module_of(name) : Ref();
}

Ref Exporter::run(const Subgraph& subgraph, const std::string& name) {
  if (!load() || !add_nodes()) return nullptr;
  Ref results = argument(subgraph.output, false);
  Ref module = results && finish(results.get()) ? module_of(name) : Ref();
  Ref meta = module && subgraph.meta ? attribute(module.get(), "meta") : Ref();
  if (meta && PyDict_Update(meta.get(), subgraph.meta.get()) < 0) return nullptr;
  return module;
}

}  // namespace

Ref to_graph_module(const Graph& graph, const std::vector<NodeId>& outputs, const std::string& name,
                    const Node* before) {
  return Exporter(graph, before).run(outputs, name);
}

Ref to_graph_module(const Graph& graph, const Piece& piece, const std::string& name) {
  return Exporter(graph).run(piece, name);
}

}  // namespace minidynamo
