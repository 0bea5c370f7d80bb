#include "graph/pieces.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_set>

#include "graph/constant.h"
#include "graph/edges.h"
#include "graph/regions.h"
#include "graph/subgraph.h"
#include "python/objects/native_contents.h"
#include "python/process/out_of_memory.h"
#include "tensor/fake/fake.h"
#include "tensor/fake/tensor_facts.h"
#include "tensor/symbolic/symbolic_size.h"

namespace minidynamo {
namespace {

constexpr size_t kLeastCalls = 60;        // number in a graph that is worth dividing
constexpr double kLargestCompiled = 0.7;  // share of the calls that are in distinct pieces

std::string name_of(const Node& node) {
  Ref name = node.kind == NodeKind::CallMethod ? node.target
                                               : Ref::steal(PyObject_GetAttrString(node.target.get(), "__name__"));
  const char* text = name && PyUnicode_Check(name.get()) ? PyUnicode_AsUTF8(name.get()) : nullptr;
  if (!text) clear_error();
  return text ? text : "";
}

void append_text(std::string& text, PyObject* object) {
  const Ref string = object ? Ref::steal(PyObject_Str(object)) : Ref();
  const char* characters = string ? PyUnicode_AsUTF8(string.get()) : nullptr;
  if (!characters) clear_error();
  text += ' ';
  if (characters) text += characters;
}

bool is_library_call(std::string_view name) {
  while (name.starts_with('_')) name.remove_prefix(1);
  constexpr std::string_view kNames[] = {
      "linear", "conv", "matmul", "mm", "bmm", "addmm", "baddbmm", "scaled_dot_product", "einsum", "lstm", "gru"};
  return std::ranges::any_of(kNames, [&](std::string_view known) { return name.starts_with(known); });
}

// Numbers calls: two calls have the same label if they differ only in where they stand in the graph.
class Labels {
 public:
  explicit Labels(const Graph& graph) : graph_(graph) {}
  uint32_t of(const Node& node);

 private:
  const Graph& graph_;
  std::unordered_map<std::string, uint32_t> numbers_;
  std::unordered_map<NodeId, std::string> values_;
  bool is_known_ = true;  // all of the call that is being described
  uint32_t unknown_ = 0;

  void append(std::string& text, const Argument& argument);
  void append_value(std::string& text, PyObject* example);
  void append_result(std::string& text, const Node& node);
  const std::string& value_of(NodeId id);
  void append_call(std::string& text, const Node& node);
  void append_subgraph(std::string& text, const Subgraph& subgraph);
  void append_pointer(std::string& text, const void* pointer) {
    text.append(reinterpret_cast<const char*>(&pointer), sizeof pointer);
  }
  void append_repr(std::string& text, PyObject* object);
};

void Labels::append_repr(std::string& text, PyObject* object) {
  const Ref repr = Ref::steal(PyObject_Repr(object));
  const char* characters = repr ? PyUnicode_AsUTF8(repr.get()) : nullptr;
  if (!characters) clear_error(), is_known_ = false;
  append_pointer(text, Py_TYPE(object));
  if (characters) text += characters;
  text += '\0';
}

// The metadata of a node's result: a tensor, a number, or a container of such.
void Labels::append_value(std::string& text, PyObject* example) {
  if (PyTuple_Check(example) || PyList_Check(example)) {
    text += '(';
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(example); ++i)
      append_value(text, PySequence_Fast_GET_ITEM(example, i));
    text += ')';
  } else if (example == Py_None) {
    text += 'N';
  } else if (is_symbolic_int_or_float(example)) {
    const Expression number = is_symbolic_int(example) ? expression_of(example) : float_expression_of(example).bits;
    text += 'S' + std::to_string(number.id) + ';';
  } else if (!append_metadata(example, text)) {
    is_known_ = false;
  }
}

// A call that enters a mode returns an object for the call that leaves it, and no metadata.
void Labels::append_result(std::string& text, const Node& node) {
  if (node.sets_mode)
    append_pointer(text, Py_TYPE(node.example.get()));
  else
    append_value(text, node.example.get());
}

const std::string& Labels::value_of(NodeId id) {
  auto [value, is_new] = values_.try_emplace(id);
  if (!is_new) return value->second;
  const bool was_known = std::exchange(is_known_, true);
  append_result(value->second, graph_.nodes()[id]);
  if (!is_known_) value->second = "value " + std::to_string(id);  // like no other
  is_known_ = was_known;
  return value->second;
}

void Labels::append(std::string& text, const Argument& argument) {
  text += static_cast<char>('a' + static_cast<int>(argument.kind));
  if (argument.kind == Argument::Kind::Node) {
    text += value_of(argument.node);
  } else if (argument.kind == Argument::Kind::Constant &&
             constant_form(argument.constant.get()) == ConstantForm::Literal) {
    append_repr(text, argument.constant.get());
  } else if (argument.kind == Argument::Kind::Subgraph) {
    append_subgraph(text, *subgraph_of(argument.constant.get()));
  } else if (argument.constant && argument.kind == Argument::Kind::Dict) {
    append_repr(text, argument.constant.get());
  } else {
    append_pointer(text, argument.constant.get());
  }
  for (const Argument& item : argument.items) append(text, item);
  text += ';';
}

void append_edges(std::string& text, const Node& node) {
  for_each_edge_of(node, [&](NodeId used) { text += std::to_string(used) + ','; });
}

// All of its calls, and the flow of data among them.
void Labels::append_subgraph(std::string& text, const Subgraph& subgraph) {
  Labels inner(subgraph.graph);
  text += subgraph.name + '{';
  for (const Node& node : subgraph.graph.nodes()) {
    if (!node.used) continue;
    if (node.kind == NodeKind::Placeholder) inner.append_value(text, node.example.get());
    if (node.kind != NodeKind::Placeholder) inner.append_call(text, node);
    append_edges(text, node);
  }
  inner.append(text, subgraph.output);
  for_each_edge(subgraph.output, [&](NodeId used) { text += std::to_string(used) + ','; });
  text += '}';
  if (subgraph.meta) append_repr(text, subgraph.meta.get());
  is_known_ &= inner.is_known_;
}

uint32_t Labels::of(const Node& node) {
  is_known_ = true;
  std::string text;
  append_call(text, node);
  if (!is_known_) text = "unknown " + std::to_string(unknown_++);
  return numbers_.try_emplace(std::move(text), static_cast<uint32_t>(numbers_.size())).first->second;
}

void Labels::append_call(std::string& text, const Node& node) {
  text += static_cast<char>('0' + static_cast<int>(node.kind));
  if (node.kind == NodeKind::CallMethod)
    append_repr(text, node.target.get());
  else
    append_pointer(text, node.target.get());
  for (const Argument& argument : node.args) append(text, argument);
  for (const auto& [name, argument] : node.kwargs) {
    append_repr(text, name.get());
    append(text, argument);
  }
  append_result(text, node);
  text += node.impure ? 'i' : 'p';
}

// A graph's calls by position, and where it must not be cut.
struct Calls {
  std::vector<NodeId> nodes;  // in order, but for the sizes at the begin
  std::vector<LabelledCall> calls;
  size_t sizes = 0;  // the first calls: they compute symbolic sizes of the graph's inputs, in any place of the program
  std::vector<bool> may_cut;
  std::vector<bool> is_in_mode;                        // by call: a mode is not what it is where the graph begins
  std::vector<std::pair<size_t, const void*>> writes;  // calls, and the storages that they write to
  bool records_histories = false;
  std::string refusal;

  Calls(const Graph& graph, const DivisionRequest& request);

 private:
  std::vector<int32_t> positions_;  // by node; the edge that stands for it

  void add_nodes(const Graph& graph);
  void add_calls(const Graph& graph, const DivisionRequest& request);
  void keep_together(size_t first, size_t last) {
    for (size_t cut = first + 1; cut <= last; ++cut) may_cut[cut] = false;
  }
  void refuse_changed_layouts(const Graph& graph);
  void keep_other_values_inside(const Graph& graph);
  void keep_writes_with_their_tensors(const Graph& graph, const DivisionRequest& request);
  void keep_modes_inside(const Graph& graph, bool gradients_are_on);
};

void Calls::add_nodes(const Graph& graph) {
  std::vector<bool> is_size(graph.nodes().size(), false);
  for (NodeId id = 0; id < graph.nodes().size(); ++id) {
    const Node& node = graph.nodes()[id];
    if (!node.used || node.kind == NodeKind::Placeholder) continue;
    is_size[id] = is_symbolic_int_or_float(node.example.get()) && !node.impure && !node.sets_mode && !node.checks;
    for_each_edge_of(node, [&](NodeId used) {
      if (graph.nodes()[used].kind != NodeKind::Placeholder && !is_size[used]) is_size[id] = false;
    });
    nodes.push_back(id);
  }
  sizes = static_cast<size_t>(std::ranges::stable_partition(nodes, [&](NodeId id) { return is_size[id]; }).begin() -
                              nodes.begin());
}

void Calls::add_calls(const Graph& graph, const DivisionRequest& request) {
  Labels labels(graph);
  positions_.resize(graph.nodes().size(), 0);
  for (NodeId id = 0; id < graph.nodes().size(); ++id)
    if (const Node& node = graph.nodes()[id]; node.used && node.kind == NodeKind::Placeholder)
      positions_[id] = -1 - node.input;
  for (size_t i = 0; i < nodes.size(); ++i) positions_[nodes[i]] = static_cast<int32_t>(i);
  for (const NodeId id : nodes) {
    const Node& node = graph.nodes()[id];
    LabelledCall call;
    call.label = labels.of(node);
    call.is_library_call = is_library_call(name_of(node));
    if (calls.size() >= sizes) call.marked_region = node.region;
    for_each_edge_of(node, [&](NodeId used) { call.edges.push_back(positions_[used]); });
    calls.push_back(std::move(call));
  }
  for (const NodeId output : request.outputs)
    if (positions_[output] >= 0) calls[static_cast<size_t>(positions_[output])].escapes = true;
}

// Examples are as the trace leaves them: of a tensor whose metadata an operator changes, what it was before is not
// known.
void Calls::refuse_changed_layouts(const Graph& graph) {
  constexpr std::string_view kNames[] = {"t_",          "transpose_", "swapaxes_",     "swapdims_", "squeeze_",
                                         "unsqueeze_",  "resize_",    "resize_as_",    "set_",      "set_data",
                                         "as_strided_", "detach_",    "requires_grad_"};
  for (const NodeId id : nodes) {
    const Node& node = graph.nodes()[id];
    const std::string name = name_of(node);
    const std::string_view plain = std::string_view(name).substr(0, name.find('.'));
    const bool has_out = std::ranges::any_of(node.kwargs, [](const auto& keyword) {
      return PyUnicode_CompareWithASCIIString(keyword.first.get(), "out") == 0;
    });
    if (has_out || std::ranges::find(kNames, plain) != std::end(kNames)) refusal = "it calls " + name;
  }
}

void Calls::keep_other_values_inside(const Graph& graph) {
  for (size_t i = 0; i < calls.size(); ++i) {
    for (const int32_t edge : calls[i].edges) {
      const auto from = static_cast<size_t>(edge);
      if (edge < 0 || from < sizes) continue;
      if (!is_fake(graph.nodes()[nodes[from]].example.get())) keep_together(from, i);
    }
  }
}

// If autograd records, the compiler would see a write to a value of another piece as a write to an input, which gets
// another history. So the cut must not lie between the value and the write.
void Calls::keep_writes_with_their_tensors(const Graph& graph, const DivisionRequest& request) {
  std::unordered_map<const void*, size_t> made;  // by storage: the call that makes the first tensor in it
  std::unordered_set<const void*> inputs;
  for (NodeId id = 0; id < graph.nodes().size(); ++id) {
    const Node& node = graph.nodes()[id];
    const void* storage = node.used ? storage_of_fake(node.example.get()) : nullptr;
    if (!storage || graph.producer(node.example.get()) != id) continue;
    if (node.kind == NodeKind::Placeholder)
      inputs.insert(storage);
    else
      made.try_emplace(storage, static_cast<size_t>(positions_[id]));
  }
  for (const auto& [storage, node] : request.writes) {
    const auto first = nodes.begin() + static_cast<ptrdiff_t>(sizes);
    const auto at =
        static_cast<size_t>(std::lower_bound(first, nodes.end(), static_cast<NodeId>(node)) - nodes.begin());
    writes.emplace_back(std::min(at, calls.size() - 1), storage);
    const auto maker = made.find(storage);
    if (request.records_histories && maker != made.end() && !inputs.contains(storage))
      keep_together(maker->second, writes.back().first);
  }
}

// The value that this thread has now, when the graph begins, of the mode that `setter` sets; null if it is not known.
Ref present_mode(const Node& setter, const std::string& name, bool gradients_are_on) {
  if (name == "_set_grad_enabled") return Ref::boolean(gradients_are_on);
  constexpr std::pair<const char*, const char*> kGetters[] = {
      {"set_autocast_enabled", "is_autocast_enabled"},
      {"set_autocast_dtype", "get_autocast_dtype"},
      {"set_autocast_cache_enabled", "is_autocast_cache_enabled"}};
  const auto getter = std::ranges::find_if(kGetters, [&](const auto& row) { return name == row.first; });
  if (getter == std::end(kGetters) || setter.args.empty()) return nullptr;
  Ref torch = Ref::steal(PyImport_ImportModule("torch"));
  Ref function = torch ? Ref::steal(PyObject_GetAttrString(torch.get(), getter->second)) : Ref();
  Ref mode;
  if (function && setter.args.size() == 1) mode = Ref::steal(PyObject_CallNoArgs(function.get()));
  if (function && setter.args.size() == 2 && setter.args[0].constant)
    mode = Ref::steal(PyObject_CallOneArg(function.get(), setter.args[0].constant.get()));
  clear_error();
  return mode;
}

void Calls::keep_modes_inside(const Graph& graph, bool gradients_are_on) {
  std::unordered_map<std::string, Ref> begins;  // by what is set: the mode where the graph begins
  std::unordered_set<std::string> changed;
  int autocasts = 0;
  for (size_t i = 0; i < calls.size(); ++i) {
    const Node& node = graph.nodes()[nodes[i]];
    if (node.sets_mode) {
      const std::string name = name_of(node);
      if (name == "_enter_autocast" || name == "autocast_increment_nesting") {
        ++autocasts;
      } else if (name == "_exit_autocast" || name == "autocast_decrement_nesting") {
        --autocasts;
      } else if (name != "clear_autocast_cache") {
        std::string what = name;
        if (node.args.size() == 2) append_text(what, node.args[0].constant.get());
        auto [begin, is_new] = begins.try_emplace(what);
        if (is_new) begin->second = present_mode(node, name, gradients_are_on);
        if (!begin->second) {
          refusal = "it calls " + name;
          return;
        }
        if (node.args.back().constant.is(begin->second.get()))
          changed.erase(what);
        else
          changed.insert(what);
      }
    }
    is_in_mode[i] = !changed.empty() || autocasts != 0;
    if (is_in_mode[i]) may_cut[i + 1] = false;
  }
}

Calls::Calls(const Graph& graph, const DivisionRequest& request) : records_histories(request.records_histories) {
  add_nodes(graph);
  add_calls(graph, request);
  may_cut.assign(calls.size() + 1, true);
  if (sizes > 0) keep_together(0, sizes - 1);
  is_in_mode.assign(calls.size(), false);
  refuse_changed_layouts(graph);
  keep_other_values_inside(graph);
  keep_writes_with_their_tensors(graph, request);
  keep_modes_inside(graph, request.gradients_are_on);
}

std::string times_text(const std::vector<Region>& regions, size_t all, size_t compiled) {
  std::string text;
  for (const Region& region : regions) {
    if (!text.empty()) text += ", ";
    text += std::to_string(region.starts.size()) + " x " + std::to_string(region.length) + " calls";
  }
  return text + "; " + std::to_string(compiled) + " of " + std::to_string(all) + " calls are compiled";
}

// The inputs of a stretch of calls: values from before the stretch, and the calls that make views of these, or compute
// their sizes, once more. Values are edges, as in LabelledCall.
struct Inputs {
  std::vector<int32_t> values;
  std::vector<size_t> remade;  // in order
};

struct Stretch {
  size_t begin = 0, end = 0;
  std::optional<size_t> region;
  Inputs inputs;
};

// The pieces of a graph that is cut along its regions.
class Cutter {
 public:
  Cutter(const Graph& graph, const Calls& calls, std::vector<NodeId> inputs)
      : graph_(graph), calls_(calls), inputs_(std::move(inputs)) {}
  // Nullopt: a region writes to memory that two of its inputs show.
  std::optional<Division> cut(const std::vector<Region>& regions, const std::vector<NodeId>& outputs);

 private:
  const Graph& graph_;
  const Calls& calls_;
  std::vector<NodeId> inputs_;  // the graph's inputs

  NodeId node_of(int32_t edge) const {
    return edge < 0 ? inputs_[static_cast<size_t>(-1 - edge)] : calls_.nodes[static_cast<size_t>(edge)];
  }
  PyObject* example_of(int32_t edge) const { return graph_.nodes()[node_of(edge)].example.get(); }
  const void* storage_of(int32_t edge) const { return storage_of_fake(example_of(edge)); }
  bool is_size(int32_t edge) const { return edge >= 0 && static_cast<size_t>(edge) < calls_.sizes; }
  bool is_view(int32_t edge) const;
  Inputs inputs_of(size_t begin, size_t end, bool makes_views) const;
  bool have_equal_inputs(const Stretch& first, const Stretch& second) const;
  bool may_be_piece(const Stretch& stretch) const;
  bool add_between(size_t begin, size_t end, std::vector<Stretch>& stretches) const;
  bool add_instances(const std::vector<Region>& regions, std::vector<Stretch>& stretches) const;
  std::vector<std::vector<size_t>> outputs_of(const std::vector<Stretch>& stretches, size_t regions,
                                              const std::vector<NodeId>& outputs) const;
};

// True if a call makes a view of its only tensor, by sizes at most, and does nothing else. A function with its own
// backward (a subgraph) does not count: called again in each piece, its backward would get the gradient in parts.
bool Cutter::is_view(int32_t edge) const {
  if (edge < 0) return false;
  const auto call = static_cast<size_t>(edge);
  const Node& node = graph_.nodes()[calls_.nodes[call]];
  if (node.impure || node.sets_mode || node.checks) return false;
  if (calls_.is_in_mode[call]) return false;  // it has no history, though it would have one elsewhere
  const bool is_operator = std::ranges::none_of(
      node.args, [](const Argument& argument) { return argument.kind == Argument::Kind::Subgraph; });
  if (!is_operator || (node.kind == NodeKind::CallFunction && PyFunction_Check(node.target.get()))) return false;
  const void* storage = storage_of(edge);
  const auto is_number = [this](int32_t from) {  // that each piece has, or can compute
    return is_size(from) || (from < 0 && is_symbolic_int(example_of(from)));
  };
  const std::vector<int32_t>& edges = calls_.calls[call].edges;
  return storage && std::ranges::count_if(edges, is_number) + 1 == std::ssize(edges) &&
         std::ranges::all_of(edges, [&](int32_t from) { return is_number(from) || storage == storage_of(from); });
}

Inputs Cutter::inputs_of(size_t begin, size_t end, bool makes_views) const {
  Inputs inputs;
  std::unordered_set<int32_t> seen;
  std::vector<int32_t> needed = outer_edges(calls_.calls, begin, end);
  std::ranges::reverse(needed);
  while (!needed.empty()) {
    const int32_t edge = needed.back();
    needed.pop_back();
    if (!seen.insert(edge).second) continue;
    if (is_size(edge) || (makes_views && is_view(edge))) {
      inputs.remade.push_back(static_cast<size_t>(edge));
      const std::vector<int32_t>& edges = calls_.calls[static_cast<size_t>(edge)].edges;
      needed.insert(needed.end(), edges.rbegin(), edges.rend());
    } else {
      inputs.values.push_back(edge);
    }
  }
  std::ranges::sort(inputs.remade);
  return inputs;
}

// Two instances of a region stay equal only if they also make the same views from the same inputs.
bool Cutter::have_equal_inputs(const Stretch& first, const Stretch& second) const {
  if (first.inputs.remade.size() != second.inputs.remade.size() ||
      first.inputs.values.size() != second.inputs.values.size())
    return false;
  auto places = [this](const Stretch& stretch) {  // by edge: what it is to the piece
    std::unordered_map<int32_t, size_t> found;
    for (const int32_t value : stretch.inputs.values) found.emplace(value, found.size());
    for (const size_t view : stretch.inputs.remade) found.emplace(static_cast<int32_t>(view), found.size());
    return found;
  };
  const auto of_first = places(first), of_second = places(second);
  for (size_t i = 0; i < first.inputs.remade.size(); ++i) {
    const LabelledCall &a = calls_.calls[first.inputs.remade[i]], &b = calls_.calls[second.inputs.remade[i]];
    const auto same_place = [&](int32_t from_a, int32_t from_b) { return of_first.at(from_a) == of_second.at(from_b); };
    if (a.label != b.label || !std::ranges::equal(a.edges, b.edges, same_place)) return false;
  }
  const auto outer_of_first = outer_edges(calls_.calls, first.begin, first.end);
  const auto outer_of_second = outer_edges(calls_.calls, second.begin, second.end);
  for (size_t i = 0; i < outer_of_first.size(); ++i)
    if (of_first.at(outer_of_first[i]) != of_second.at(outer_of_second[i])) return false;
  return true;
}

bool Cutter::may_be_piece(const Stretch& stretch) const {
  std::unordered_map<const void*, std::vector<int32_t>> showing;
  for (const int32_t value : stretch.inputs.values)
    if (const void* storage = storage_of(value)) showing[storage].push_back(value);
  return std::ranges::none_of(calls_.writes, [&](const auto& write) {
    if (write.first < stretch.begin || write.first >= stretch.end) return false;
    const auto found = showing.find(write.second);
    if (found == showing.end()) return false;
    return found->second.size() > 1 || (calls_.records_histories && found->second[0] >= 0);
  });
}

// Cut before a write, if it must not be in one piece with what comes before.
bool Cutter::add_between(size_t begin, size_t end, std::vector<Stretch>& stretches) const {
  while (begin < end) {
    Stretch stretch{begin, end, std::nullopt, inputs_of(begin, end, true)};
    for (auto write = calls_.writes.rbegin(); !may_be_piece(stretch); ++write) {
      if (write == calls_.writes.rend()) return false;
      if (write->first <= begin || write->first >= stretch.end || !calls_.may_cut[write->first]) continue;
      stretch.end = write->first;
      stretch.inputs = inputs_of(begin, stretch.end, true);
    }
    begin = stretch.end;
    stretches.push_back(std::move(stretch));
  }
  return true;
}

bool Cutter::add_instances(const std::vector<Region>& regions, std::vector<Stretch>& stretches) const {
  for (size_t r = 0; r < regions.size(); ++r) {
    const size_t first = stretches.size();
    for (const bool makes_views : {true, false}) {
      stretches.resize(first);
      for (const size_t start : regions[r].starts) {
        const size_t end = start + regions[r].length;
        stretches.push_back({start, end, r, inputs_of(start, end, makes_views)});
      }
      if (std::all_of(stretches.begin() + static_cast<ptrdiff_t>(first), stretches.end(),
                      [&](const Stretch& stretch) { return have_equal_inputs(stretches[first], stretch); }))
        break;
    }
    // One may be given a tensor of which all need a size: it has an input less, and is no instance.
    const Stretch usual = stretches[first + (stretches.size() - first) / 2];
    stretches.erase(std::remove_if(stretches.begin() + static_cast<ptrdiff_t>(first), stretches.end(),
                                   [&](const Stretch& stretch) { return !have_equal_inputs(usual, stretch); }),
                    stretches.end());
    if (!std::all_of(stretches.begin() + static_cast<ptrdiff_t>(first), stretches.end(),
                     [&](const Stretch& stretch) { return may_be_piece(stretch); }))
      return false;
  }
  return true;
}

// By stretch: its calls whose results others are given, the same places in all instances of a region.
std::vector<std::vector<size_t>> Cutter::outputs_of(const std::vector<Stretch>& stretches, size_t regions,
                                                    const std::vector<NodeId>& outputs) const {
  std::unordered_set<NodeId> given(outputs.begin(), outputs.end());
  for (const Stretch& stretch : stretches)
    for (const int32_t value : stretch.inputs.values) given.insert(node_of(value));
  std::vector<std::unordered_set<size_t>> of_region(regions);
  for (const Stretch& stretch : stretches) {
    for (size_t i = stretch.begin; stretch.region && i < stretch.end; ++i)
      if (given.contains(calls_.nodes[i])) of_region[*stretch.region].insert(i - stretch.begin);
  }
  std::vector<std::vector<size_t>> all;
  for (const Stretch& stretch : stretches) {
    std::vector<size_t>& calls = all.emplace_back();
    for (size_t i = stretch.begin; i < stretch.end; ++i)
      if (stretch.region ? of_region[*stretch.region].contains(i - stretch.begin) : given.contains(calls_.nodes[i]))
        calls.push_back(i);
  }
  return all;
}

std::optional<Division> Cutter::cut(const std::vector<Region>& regions, const std::vector<NodeId>& outputs) {
  std::vector<Stretch> instances, stretches;
  if (!add_instances(regions, instances)) return std::nullopt;
  std::ranges::sort(instances, {}, &Stretch::begin);
  size_t position = calls_.sizes;
  for (Stretch& instance : instances) {
    if (!add_between(position, instance.begin, stretches)) return std::nullopt;
    position = instance.end;
    stretches.push_back(std::move(instance));
  }
  if (!add_between(position, calls_.calls.size(), stretches)) return std::nullopt;

  const std::vector<std::vector<size_t>> results = outputs_of(stretches, regions.size(), outputs);
  Division division;
  division.modules = regions.size();
  for (size_t i = 0; i < stretches.size(); ++i) {
    const Stretch& stretch = stretches[i];
    Piece& piece = division.pieces.emplace_back();
    piece.module = stretch.region ? *stretch.region : division.modules++;
    for (const size_t call : stretch.inputs.remade) piece.calls.push_back(calls_.nodes[call]);
    for (size_t call = stretch.begin; call < stretch.end; ++call) piece.calls.push_back(calls_.nodes[call]);
    for (const int32_t value : stretch.inputs.values) piece.inputs.push_back(node_of(value));
    for (const size_t call : results[i]) piece.outputs.push_back(calls_.nodes[call]);
  }
  return division;
}

Ref slots_of(const std::vector<NodeId>& nodes, std::unordered_map<NodeId, Py_ssize_t>& slots) {
  Ref tuple = Ref::made(PyTuple_New(static_cast<Py_ssize_t>(nodes.size())));
  for (size_t i = 0; i < nodes.size(); ++i) {
    const auto slot = slots.try_emplace(nodes[i], static_cast<Py_ssize_t>(slots.size())).first->second;
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), Ref::made(PyLong_FromSsize_t(slot)).release());
  }
  return tuple;
}

std::vector<NodeId> inputs_of(const Graph& graph) {
  std::vector<NodeId> inputs;
  for (NodeId id = 0; id < graph.nodes().size(); ++id)
    if (graph.nodes()[id].used && graph.nodes()[id].kind == NodeKind::Placeholder) inputs.push_back(id);
  return inputs;
}

}  // namespace

Division divide(const Graph& graph, const DivisionRequest& request) {
  Division none;
  if (graph.call_count() < kLeastCalls && !graph.has_marked_regions()) {
    none.report = "the graph is small";
    return none;
  }
  const Calls calls(graph, request);
  if (!calls.refusal.empty()) {
    none.report = calls.refusal;
    return none;
  }
  const std::vector<Region> regions = find_regions(calls.calls, calls.may_cut);
  size_t saved = 0;
  for (const Region& region : regions) saved += (region.starts.size() - 1) * region.length;
  const size_t all = calls.calls.size(), compiled = all - saved;
  const bool is_wanted = std::ranges::any_of(regions, &Region::is_marked);
  const bool pays = all >= kLeastCalls && static_cast<double>(compiled) <= kLargestCompiled * static_cast<double>(all);
  if (regions.empty() || !(pays || is_wanted)) {
    none.report = regions.empty() ? "nothing repeats" : "too little repeats: " + times_text(regions, all, compiled);
    return none;
  }
  std::optional<Division> division = Cutter(graph, calls, inputs_of(graph)).cut(regions, request.outputs);
  if (!division) {
    none.report = "a region writes to memory that it is given";
    return none;
  }
  division->report = times_text(regions, all, compiled);
  return std::move(*division);
}

Ref to_program(const Graph& graph, const Division& division, const std::vector<NodeId>& outputs,
               const std::string& name) {
  std::unordered_map<NodeId, Py_ssize_t> slots;
  for (const NodeId input : inputs_of(graph)) slots.emplace(input, static_cast<Py_ssize_t>(slots.size()));
  Ref modules = Ref::made(PyTuple_New(static_cast<Py_ssize_t>(division.modules)));
  Ref steps = Ref::made(PyTuple_New(static_cast<Py_ssize_t>(division.pieces.size())));
  for (size_t i = 0; i < division.pieces.size(); ++i) {
    const Piece& piece = division.pieces[i];
    const auto number = static_cast<Py_ssize_t>(piece.module);
    if (!PyTuple_GET_ITEM(modules.get(), number)) {
      Ref module = to_graph_module(graph, piece, name + "_piece_" + std::to_string(number));
      if (!module) return nullptr;
      PyTuple_SET_ITEM(modules.get(), number, module.release());
    }
    Ref inputs = slots_of(piece.inputs, slots), made = slots_of(piece.outputs, slots);
    Ref step = Ref::made(Py_BuildValue("nOO", number, inputs.get(), made.get()));
    PyTuple_SET_ITEM(steps.get(), static_cast<Py_ssize_t>(i), step.release());
  }
  const Ref results = slots_of(outputs, slots);
  return Ref::made(PyTuple_Pack(3, modules.get(), steps.get(), results.get()));
}

}  // namespace minidynamo
