// Recording: the arguments of calls become edges and constants, what calls return gets a producer; and dead-code
// removal.
//
// Invariants: a node's edges point to earlier nodes; a call that cannot be recorded leaves the graph as it was.
#include "graph/graph.h"

#include <algorithm>

#include "graph/constant.h"
#include "graph/edges.h"
#include "python/code/struct_sequence.h"
#include "python/error_text.h"
#include "python/process/out_of_memory.h"
#include "python/unstable.h"
#include "tensor/autograd/transforms.h"
#include "tensor/fake/fake.h"
#include "tensor/fake/tensor_facts.h"
#include "tensor/symbolic/symbolic_size.h"

namespace minidynamo {
namespace {

const char* type_name(PyObject* object) noexcept { return Py_TYPE(object)->tp_name; }

bool refuse(PyObject* object) {
  if (PyErr_Occurred()) return false;
  PyErr_Format(PyExc_TypeError, "an object of type '%s' cannot stand in a graph", type_name(object));
  return false;
}

// Puts `where` of `target` in front of the message of a TypeError that is set; other errors stay as they are.
void name_argument(const Ref& where, PyObject* target) {
  if (!PyErr_ExceptionMatches(PyExc_TypeError)) return;
  const Ref error = take_error();
  Ref name = PyUnicode_Check(target) ? Ref::borrow(target) : Ref::steal(PyObject_GetAttrString(target, "__name__"));
  if (!name) {
    clear_error();
    name = Ref::steal(PyObject_Repr(target));
  }
  if (!name || !where) return;  // another error is set, which is as good
  PyErr_Format(PyExc_TypeError, "%S of %S: %S", where.get(), name.get(), error.get());
}

bool is_named_tuple(PyTypeObject* type) noexcept {
  Ref fields = Ref::steal(PyObject_GetAttrString(as_object(type), "_fields"));
  if (!fields) clear_error();
  return fields && PyTuple_CheckExact(fields.get());
}

bool is_plain_tuple(PyObject* tuple) noexcept {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
    if (!is_plain_scalar(PyTuple_GET_ITEM(tuple, i))) return false;
  }
  return true;
}

Argument constant_argument(Ref constant) { return {Argument::Kind::Constant, kNoNode, std::move(constant), {}}; }

bool is_dict_key(PyObject* key) noexcept { return is_plain_scalar(key) || PyBytes_CheckExact(key); }

// Generated source writes keyword arguments as `name = value`.
bool check_keyword(PyObject* name) {
  const ArgumentTypes* known = argument_types();
  if (!known) return false;
  if (PyUnicode_CheckExact(name) && PyUnicode_IsIdentifier(name)) {
    const int reserved = PySet_Contains(known->keywords, name);
    if (reserved <= 0) return reserved == 0;
  }
  PyErr_Format(PyExc_TypeError, "the keyword %R is not an identifier", name);
  return false;
}

Ref getitem_function() {
  Ref module = Ref::steal(PyImport_ImportModule("operator"));
  return module ? Ref::steal(PyObject_GetAttrString(module.get(), "getitem")) : Ref();
}

// Depth of nesting, as CPython counts it: an argument may contain itself.
class Nesting {
 public:
  Nesting() : entered_(Py_EnterRecursiveCall(" while recording an argument") == 0) {}
  ~Nesting() {
    if (entered_) Py_LeaveRecursiveCall();
  }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;
  bool entered() const noexcept { return entered_; }

 private:
  bool entered_;
};

}  // namespace

NodeId Graph::producer(PyObject* fake) const noexcept {
  auto found = producers_.find(fake);
  return found == producers_.end() ? kNoNode : found->second;
}

NodeId Graph::origin(PyObject* fake) const {
  if (const NodeId node = producer(fake); node != kNoNode || !is_fake(fake)) return node;
  const auto same_storage = by_storage_.find(storage_of_fake(fake));
  if (same_storage == by_storage_.end()) return kNoNode;
  const auto& [storage, tensors] = *same_storage;
  const auto twin = std::find_if(tensors.rbegin(), tensors.rend(), [&](PyObject* tensor) {
    if (producer(tensor) == kNoNode) return false;  // it has none any more, and may be gone
    return below_autograd ? show_same_memory(tensor, fake) : are_same_fake(tensor, fake);
  });
  return twin == tensors.rend() ? kNoNode : producer(*twin);
}

void Graph::set_producer(PyObject* fake, NodeId node) {
  if (producers_.try_emplace(fake, node).second) by_storage_[storage_of_fake(fake)].push_back(fake);
}

NodeId Graph::add_placeholder(const std::string& name, Ref fake) {
  const NodeId id = static_cast<NodeId>(nodes_.size());
  Node node{NodeKind::Placeholder};
  node.target = Ref::made(PyUnicode_FromStringAndSize(name.data(), static_cast<Py_ssize_t>(name.size())));
  if (!node.target) return kNoNode;
  producers_.erase(fake.get());
  set_producer(fake.get(), id);
  node.example = std::move(fake);
  nodes_.push_back(std::move(node));
  return id;
}

NodeId Graph::add_drawn_input(const std::string& name, Ref fake) {
  const NodeId id = add_placeholder(name, std::move(fake));
  if (id != kNoNode) nodes_[id].impure = true;
  return id;
}

NodeId Graph::add_parameter(const std::string& name, Ref fake) {
  const NodeId id = add_placeholder(name, std::move(fake));
  if (id != kNoNode) nodes_[id].parameter = true;
  return id;
}

NodeId Graph::add_call(NodeKind kind, Ref target, PyObject* args, PyObject* kwargs, PyObject* result, bool impure,
                       std::shared_ptr<const CallSite> site) {
  Node node{kind};
  const Py_ssize_t count = PyTuple_GET_SIZE(args);
  node.args.resize(count);
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (argument_of(PyTuple_GET_ITEM(args, i), node.args[i])) continue;
    name_argument(Ref::made(PyUnicode_FromFormat("argument %zd", i + 1)), target.get());
    return kNoNode;
  }
  if (kind == NodeKind::CallMethod && (count == 0 || node.args[0].kind != Argument::Kind::Node)) {
    PyErr_Format(PyExc_TypeError, "argument 1 of %S: a method's own object has to be a tensor of the graph",
                 target.get());
    return kNoNode;
  }
  if (kwargs && PyDict_GET_SIZE(kwargs) > 0) {
    node.kwargs.reserve(PyDict_GET_SIZE(kwargs));
    PyObject *name, *value;
    Py_ssize_t position = 0;
    while (PyDict_Next(kwargs, &position, &name, &value)) {
      auto& [key, argument] = node.kwargs.emplace_back(Ref::borrow(name), Argument{Argument::Kind::Constant});
      if (check_keyword(key.get()) && argument_of(value, argument)) continue;
      name_argument(Ref::made(PyUnicode_FromFormat("argument %S", key.get())), target.get());
      return kNoNode;
    }
  }
  node.target = std::move(target);
  node.example = Ref::borrow(result);
  node.impure = impure;
  node.region = marked_region_;
  node.site = std::move(site);
  const NodeId id = static_cast<NodeId>(nodes_.size());
  nodes_.push_back(std::move(node));
  if (!produce(result, id, nodes_[id].site)) {
    while (nodes_.size() > id) {
      std::erase_if(producers_, [&](const auto& entry) { return entry.second == nodes_.size() - 1; });
      nodes_.pop_back();
    }
    return kNoNode;
  }
  ++call_count_;
  return id;
}

bool Graph::fill_last(PyObject* maker, PyObject* together, PyObject* args) {
  if (nodes_.empty() || PyTuple_GET_SIZE(args) == 0) return false;
  Node& last = nodes_.back();
  if (!last.target.is(maker) || last.args.size() != 1 || !last.kwargs.empty() ||
      !last.example.is(PyTuple_GET_ITEM(args, 0)))
    return false;
  std::vector<Argument> others(static_cast<size_t>(PyTuple_GET_SIZE(args)) - 1);
  for (size_t i = 0; i < others.size(); ++i)
    if (!argument_of(PyTuple_GET_ITEM(args, static_cast<Py_ssize_t>(i) + 1), others[i])) return clear_error(), false;
  last.target = Ref::borrow(together);
  last.args.insert(last.args.end(), others.begin(), others.end());
  last.impure = true;
  return true;
}

NodeId Graph::add_number(Ref target, PyObject* args, const Ref& number, std::shared_ptr<const CallSite> site) {
  Node node{NodeKind::CallFunction};
  node.args.resize(PyTuple_GET_SIZE(args));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i)
    if (!argument_of(PyTuple_GET_ITEM(args, i), node.args[i])) return kNoNode;
  node.target = std::move(target);
  node.example = number;
  node.element = true;
  node.region = marked_region_;
  node.site = std::move(site);
  const NodeId id = static_cast<NodeId>(nodes_.size());
  nodes_.push_back(std::move(node));
  return id;
}

bool Graph::argument_of(PyObject* object, Argument& out) const {
  if (is_plain_scalar(object)) {
    out = constant_argument(Ref::borrow(object));
    return true;
  }
  if (const NodeId node = origin(object); node != kNoNode) {
    out.kind = Argument::Kind::Node;
    out.node = node;
    return true;
  }
  if (PyTuple_Check(object) || PyList_Check(object) || PyDict_Check(object) || PySlice_Check(object)) {
    Nesting nesting;
    if (!nesting.entered()) return false;
    if (PyTuple_Check(object)) return tuple_argument(object, out);
    if (PyDict_Check(object)) return dict_argument(object, out);
    if (PySlice_Check(object)) {
      auto* slice = as_slice(object);
      PyObject* const parts[] = {slice->start, slice->stop, slice->step};
      out.kind = Argument::Kind::Slice;
      return items_of(parts, 3, out);
    }
    if (!PyList_CheckExact(object)) return refuse(object);
    // Analysis of an item may run Python code (attribute lookups), so the list is not read while that happens.
    Ref items = Ref::steal(PyList_AsTuple(object));
    if (!items) return false;
    out.kind = Argument::Kind::List;
    return items_of(&PyTuple_GET_ITEM(items.get(), 0), PyTuple_GET_SIZE(items.get()), out);
  }
  if (is_tensor(object)) {
    PyErr_SetString(PyExc_TypeError, is_fake(object) ? "a fake tensor that this graph did not produce"
                                                     : "a real tensor that is not an input of the graph");
    return false;
  }
  if (number_argument && is_symbolic_int_or_float(object)) return number_argument(object, out);
  if (stands_for_subgraph(object)) {
    out.kind = Argument::Kind::Subgraph;
    out.constant = Ref::borrow(object);
    return true;
  }
  Ref constant = as_constant(object);
  if (!constant) return refuse(object);
  out = constant_argument(std::move(constant));
  return true;
}

bool Graph::items_of(PyObject* const* objects, Py_ssize_t count, Argument& out) const {
  out.items.resize(count);
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (!argument_of(objects[i], out.items[i])) return false;
  }
  return true;
}

bool Graph::tuple_argument(PyObject* tuple, Argument& out) const {
  PyTypeObject* type = Py_TYPE(tuple);
  if (type == &PyTuple_Type) {
    if (is_plain_tuple(tuple)) {
      out = constant_argument(Ref::borrow(tuple));
      return true;
    }
  } else {
    const ArgumentTypes* known = argument_types();
    if (!known) return false;
    if (type == known->size || is_struct_sequence_type(type)) {
      Ref plain = Ref::steal(PyTuple_GetSlice(tuple, 0, PyTuple_GET_SIZE(tuple)));
      return plain && tuple_argument(plain.get(), out);
    }
    if (!is_named_tuple(type)) return refuse(tuple);
    out.constant = Ref::borrow(as_object(type));
  }
  out.kind = Argument::Kind::Tuple;
  return items_of(&PyTuple_GET_ITEM(tuple, 0), PyTuple_GET_SIZE(tuple), out);
}

bool Graph::dict_argument(PyObject* dict, Argument& out) const {
  if (!PyDict_CheckExact(dict)) return refuse(dict);
  Ref keys = Ref::steal(PyDict_Keys(dict)), values = Ref::steal(PyDict_Values(dict));
  if (!keys || !values) return false;
  out.constant = Ref::steal(PyList_AsTuple(keys.get()));
  Ref items = Ref::steal(PyList_AsTuple(values.get()));
  if (!out.constant || !items) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(out.constant.get()); ++i) {
    PyObject* key = PyTuple_GET_ITEM(out.constant.get(), i);
    if (is_dict_key(key)) continue;
    PyErr_Format(PyExc_TypeError, "a dict with a key of type '%s' cannot stand in a graph", type_name(key));
    return false;
  }
  out.kind = Argument::Kind::Dict;
  return items_of(&PyTuple_GET_ITEM(items.get(), 0), PyTuple_GET_SIZE(items.get()), out);
}

// 1 if a fake without a producer is in the result, 0 if not, -1 with a Python error set if it is nested too deep.
int Graph::has_new_fake(PyObject* result) const {
  const bool sequence = PyTuple_Check(result) || PyList_Check(result);
  if (!sequence && !PyDict_Check(result)) return is_fake(result) && !producers_.contains(result);
  Nesting nesting;
  if (!nesting.entered()) return -1;
  if (sequence) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(result); ++i) {
      if (const int found = has_new_fake(PySequence_Fast_GET_ITEM(result, i))) return found;
    }
    return 0;
  }
  PyObject *key, *value;
  Py_ssize_t position = 0;
  while (PyDict_Next(result, &position, &key, &value)) {
    if (const int found = has_new_fake(value)) return found;
  }
  return 0;
}

bool Graph::produce(PyObject* result, NodeId node, const std::shared_ptr<const CallSite>& site_of_call) {
  if (is_fake(result)) {
    set_producer(result, node);  // an in-place operation returns an argument, which keeps its producer
    return true;
  }
  const bool container = PyTuple_Check(result) || PyList_Check(result) || PyDict_Check(result);
  if (!container) return true;
  Nesting nesting;
  if (!nesting.entered()) return false;
  const std::shared_ptr<const CallSite> site = site_of_call;  // the reference may point into nodes_, which grows
  if (PyDict_Check(result)) {
    PyObject *key, *value;
    Py_ssize_t position = 0;
    while (PyDict_Next(result, &position, &key, &value)) {
      if (is_dict_key(key) && !produce_element(key, value, node, site)) return false;
    }
    return true;
  }
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(result); ++i) {
    PyObject* element = PySequence_Fast_GET_ITEM(result, i);
    Ref index = Ref::made(PyLong_FromSsize_t(i));
    if (!produce_element(index.get(), element, node, site)) return false;
  }
  return true;
}

// The node that takes an element out of what a node returned, if a fake in the element has no producer yet.
bool Graph::produce_element(PyObject* key, PyObject* element, NodeId node,
                            const std::shared_ptr<const CallSite>& site) {
  const int has_new = has_new_fake(element);
  if (has_new <= 0) return has_new == 0;
  Node getitem{NodeKind::CallFunction};
  getitem.target = getitem_function();
  if (!getitem.target) return false;
  getitem.args.push_back({Argument::Kind::Node, node, {}, {}});
  getitem.args.push_back(constant_argument(Ref::borrow(key)));
  getitem.example = Ref::borrow(element);
  getitem.element = true;
  getitem.region = marked_region_;
  getitem.site = site;
  const NodeId id = static_cast<NodeId>(nodes_.size());
  nodes_.push_back(std::move(getitem));
  return produce(element, id, site);
}

bool Graph::is_pure() const noexcept {
  for (const Node& node : nodes_)
    if (node.used && node.impure && !node.sets_mode && !node.checks) return false;
  return true;
}

bool Graph::sets_modes() const noexcept {
  for (const Node& node : nodes_)
    if (node.used && node.sets_mode) return true;
  return false;
}

bool Graph::calls(PyObject* function, PyObject* constant) const noexcept {
  return std::ranges::any_of(nodes_, [&](const Node& node) {
    return node.used && node.kind == NodeKind::CallFunction && node.target.is(function) && node.args.size() == 1 &&
           node.args[0].constant.is(constant);
  });
}

PyObject* Graph::last_given_to(PyObject* function) const noexcept {
  const auto last = std::find_if(nodes_.rbegin(), nodes_.rend(), [function](const Node& node) {
    return node.used && node.kind == NodeKind::CallFunction && node.target.is(function) && node.args.size() == 1;
  });
  return last == nodes_.rend() ? nullptr : last->args[0].constant.get();
}

bool Graph::begins_with(PyObject* function) const noexcept {
  const auto first = std::ranges::find_if(
      nodes_, [](const Node& node) { return node.used && node.kind != NodeKind::Placeholder && !node.element; });
  return first != nodes_.end() && first->target.is(function);
}

void Graph::remove_dead_code(const std::vector<NodeId>& outputs) {
  for (Node& node : nodes_) {
    node.used = node.impure;
    node.input = -1;
  }
  auto use = [this](NodeId id) { nodes_[id].used = true; };
  for (NodeId output : outputs) {
    if (output < nodes_.size()) use(output);
  }
  for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node) {
    if (!node->used) continue;
    for (const Argument& argument : node->args) for_each_edge(argument, use);
    for (const auto& [name, argument] : node->kwargs) for_each_edge(argument, use);
  }
  int32_t inputs = 0;
  call_count_ = 0;
  for (Node& node : nodes_) {
    if (!node.used) continue;
    if (node.kind == NodeKind::Placeholder) {
      node.input = inputs++;
    } else if (!node.element) {
      ++call_count_;
    }
  }
}

}  // namespace minidynamo
