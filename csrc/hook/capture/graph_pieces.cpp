#include "hook/capture/graph_pieces.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "graph/pieces.h"
#include "hook/capture/dynamic_numbers.h"
#include "python/objects/sequence.h"
#include "python/process/out_of_memory.h"
#include "tensor/fake/fake.h"
#include "tensor/fake/tensor_facts.h"
#include "tensor/process/thread_modes.h"
#include "tensor/symbolic/symbolic_size.h"

namespace minidynamo {
namespace {

// Which of them do, a fake does not show.
bool inputs_share_written_memory(const Tracer& tracer, const Exit& exit) {
  std::vector<PyObject*> tensors;
  std::vector<bool> written;
  for (const Source* input : exit.inputs) {
    PyObject* fake = is_tensor(input->value.get()) ? tracer.world.replacement_of(input->value.get()) : nullptr;
    if (!fake || !is_fake(fake)) continue;
    tensors.push_back(input->value.get());
    written.push_back(tracer.storages.is_written(fake));
  }
  if (std::ranges::none_of(written, std::identity())) return false;
  const auto groups = StorageSharing::of(tensors, written).groups();
  return std::ranges::any_of(groups, [](const std::vector<uint32_t>& group) { return group.size() > 1; });
}

// Tells the backend which sizes of a piece's inputs are dynamic, and how they follow from the inputs of the graph.
class DynamicSizesOfPieces {
 public:
  DynamicSizesOfPieces(const Tracer& tracer, const Exit& exit) : tracer_(tracer), exit_(exit) {}

  // False: a size has no form that can be told.
  bool read(const Division& division) {
    of_module_.resize(division.modules);
    for (const Piece& piece : division.pieces)
      if (Described& described = of_module_[piece.module]; !described.open_sizes && !read(piece, described))
        return false;
    return true;
  }

  // False with a Python error set.
  bool announce(PyObject* modules) const {
    for (size_t i = 0; i < of_module_.size(); ++i) {
      PyObject* module = PyTuple_GET_ITEM(modules, static_cast<Py_ssize_t>(i));
      const Ref meta = Ref::steal(PyObject_GetAttrString(module, "meta"));
      const auto& [open_sizes, layouts] = of_module_[i];
      if (!meta || PyDict_SetItemString(meta.get(), "open_sizes", open_sizes.get()) < 0 ||
          PyDict_SetItemString(meta.get(), "layouts", layouts.get()) < 0)
        return false;
    }
    return true;
  }

 private:
  struct Described {
    Ref open_sizes, layouts;
  };
  const Tracer& tracer_;
  const Exit& exit_;
  std::vector<Described> of_module_;

  Ref number(Expression expression) const { return number_of_inputs(expression, exit_, tracer_.symbols); }

  Ref numbers(const std::vector<Expression>& expressions) const {
    std::vector<Ref> items;
    for (const Expression expression : expressions)
      if (!items.emplace_back(number(expression))) return nullptr;
    return tuple_of(items);
  }

  bool read(const Piece& piece, Described& described) const {
    std::vector<Ref> open, layouts;
    for (const NodeId input : piece.inputs) {
      PyObject* example = tracer_.graph.nodes()[input].example.get();
      Ref dimensions = Ref::none(), layout = Ref::none();
      if (is_symbolic_int(example)) {
        layout = number(expression_of(example));
      } else if (const auto symbolic = symbolic_layout(example)) {
        const Ref sizes = numbers(symbolic->sizes), strides = numbers(symbolic->strides);
        layout = sizes && strides ? Ref::made(PyTuple_Pack(2, sizes.get(), strides.get())) : Ref();
        OpenDimensions open_dimensions = 0;
        for (size_t d = 0; d < symbolic->sizes.size(); ++d)
          if (!is_constant_expression(symbolic->sizes[d])) open_dimensions |= OpenDimensions{1} << d;
        dimensions = dimensions_tuple(open_dimensions);
      } else {
        dimensions = dimensions_tuple(0);
      }
      if (!layout) return false;
      open.push_back(std::move(dimensions));
      layouts.push_back(std::move(layout));
    }
    described = {tuple_of(open), tuple_of(layouts)};
    return true;
  }
};

}  // namespace

bool announce_pieces(PyObject* graph_module, const Tracer& tracer, const Exit& exit, const std::string& name) {
  Division division;
  if (has_unknown_numbers(tracer.symbols))
    division.report = "a size is known to the run of the graph alone";
  else if (inputs_share_written_memory(tracer, exit))
    division.report = "inputs share memory that is written to";
  else
    division = divide(tracer.graph, {exit.outputs, tracer.storages.writes, gradients_are_on(),
                                     gradients_are_on() && !tracer.limits.below_autograd});
  DynamicSizesOfPieces sizes(tracer, exit);
  if (tracer.symbols.active() && !division.pieces.empty() && !sizes.read(division)) {
    division.pieces.clear();
    division.report = "a size between two pieces is computed in a way that cannot be told";
  }
  const Ref meta = Ref::steal(PyObject_GetAttrString(graph_module, "meta"));
  const Ref report = Ref::made(PyUnicode_FromString(division.report.c_str()));
  if (!meta || PyDict_SetItemString(meta.get(), "regions", report.get()) < 0) return false;
  if (division.pieces.empty()) return true;
  const Ref program = to_program(tracer.graph, division, exit.outputs, name);
  if (!program || (tracer.symbols.active() && !sizes.announce(PyTuple_GET_ITEM(program.get(), 0)))) return false;
  return PyDict_SetItemString(meta.get(), "pieces", program.get()) == 0;
}

}  // namespace minidynamo
