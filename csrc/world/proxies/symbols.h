// The numbers of a trace that may differ at the next call: where each comes from, what stands for it on the evaluator's
// stack (a torch.SymInt, or a torch.SymFloat for what is computed of them in floats), and the nodes that compute sizes
// in the graph.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "graph/graph.h"
#include "guard/source.h"
#include "tensor/symbolic/symbolic_size.h"
#include "world/proxies/open_numbers.h"

namespace minidynamo {

// The function of Python's that computes a step of an expression, of ints and floats or of symbolic ones. Null with a
// Python error set: it has none.
PyObject* function_of_step(SizeStep::Kind kind);

class Symbols {
 public:
  // `where`: the place in the program that asks; `site`: the same for a node.
  Symbols(Graph& graph, const DynamicSizes* open, std::function<GuardOrigin()> where,
          std::function<std::shared_ptr<const CallSite>()> site)
      : graph_(graph),
        open_(open),
        expects_some_(open && !open->none()),
        where_(std::move(where)),
        site_(std::move(site)) {}
  Symbols(const Symbols&) = delete;
  // True if there is any symbol yet.
  bool active() const noexcept { return sizes_ != nullptr; }
  // Or whether what is read next may be one.
  bool may_have_symbols() const noexcept { return active() || expects_some_; }
  // Native code is called that looks at numbers: containers that are read for it hold none that may differ.
  bool specializes_reads = false;
  const std::shared_ptr<TraceSizes>& sizes() const noexcept { return sizes_; }
  TraceSizes& trace() const noexcept { return *sizes_; }

  // The dimensions of an external tensor that are to be symbols.
  OpenDimensions dimensions_of(const Source& source);
  // True if an outside int is to be one.
  bool makes_int_dynamic(const Source& source) const;
  // True if a tuple from outside holds a number that is to be dynamic.
  bool has_dynamic_items(const Source& tuple) const;

  // A symbol for an outside number, made once.
  Expression symbol_for(Source* source, int32_t dimension, int64_t value);
  // The input of the graph that a symbol is read from: the tensor's fake, or the int's own SymInt.
  void read_from(Expression symbol, Ref owner);
  // A symbol for a number that only the run of the graph knows. It has no source.
  Expression unbacked_symbol(int64_t example, SizeRange range);
  // Its node is this one, from which it is read; without, the first tensor that has it for a size tells it.
  void read_from_node(Expression symbol, NodeId node) { nodes_.insert_or_assign(symbol.id, node); }
  // A torch.SymInt or an int, or of a float expression a torch.SymFloat or a float; the same object for the same
  // expression. Null with a Python error set.
  Ref object(Expression e);
  // The symbols, with the source of each; unknown numbers have none.
  const std::vector<OpenNumber>& numbers() const noexcept { return numbers_; }

  // The node of a number's value in the graph, made if there is none; kNoNode with a Python error set.
  NodeId node_of(Expression e);
  // The object that stands for a condition in the arguments of a node; null with a Python error set.
  Ref condition_object(SizeCondition condition);
  // True if its value fits into 64 bits now; only such ones may stand for ints.
  bool fits(Expression e) const;
  // Nodes from this one on are gone.
  void forget_nodes_from(NodeId first);
  // An int or float that takes the place of a symbolic one, from here on that number. Null with a Python error set.
  Ref specialized(PyObject* number);

  // Graphs within the graph that are being recorded: to these, a size is the number that it is.
  int bodies = 0;
  // See Graph::number_argument.
  bool argument(PyObject* number, Argument& out);

  // The first of the sizes that the user wants dynamic and that is not, and why; empty: all are.
  std::string broken_mark() const;
  // True if the user has said that the program decides nothing by a size in it.
  bool is_marked_unbacked(Expression e) const;
  bool has_unbacked_marks() const noexcept { return has_unbacked_marks_; }

  // The numbers that turned out to be good for one value alone.
  std::vector<OpenNumber> specialized() const;

  // The conditions that were asked, with the places that asked.
  std::vector<SizeGuard> guards() const;

 private:
  struct Cause {
    Ref code;
    int32_t line;
  };
  Graph& graph_;
  const DynamicSizes* open_;
  const bool expects_some_;
  std::function<GuardOrigin()> where_;
  std::function<std::shared_ptr<const CallSite>()> site_;
  std::shared_ptr<TraceSizes> sizes_;
  std::vector<OpenNumber> numbers_;
  std::vector<Ref> owners_;  // by symbol: the fake, or the int's own SymInt, that is an input of the graph
  std::unordered_map<int32_t, Ref> objects_;
  std::unordered_map<int32_t, NodeId> nodes_;
  std::vector<Cause> causes_;
  struct Mark {
    OpenNumber number;
    bool must_be_open, is_unbacked;
    std::optional<SizeRange> range;
  };
  std::vector<Mark> marked_;  // by the user
  bool has_unbacked_marks_ = false;

  const Mark* mark_of(const OpenNumber& number) const noexcept;
  // Why a mark is not kept; empty: it is.
  std::string breach_of(const Mark& mark) const;
  std::string place_of(const SizeGuard& guard) const;

  void begin();

  NodeId make_node(Expression e);
  NodeId node_of_symbol(int32_t number);
  NodeId node_of_unknown(Expression symbol);
  NodeId call(PyObject* function, std::vector<Ref> arguments, Expression e);
};

}  // namespace minidynamo
