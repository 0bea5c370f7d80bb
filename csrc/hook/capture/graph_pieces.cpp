#include "hook/capture/graph_pieces.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "graph/pieces.h"
#include "python/process/out_of_memory.h"
#include "tensor/fake/fake.h"
#include "tensor/fake/tensor_facts.h"
#include "tensor/process/thread_modes.h"

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

}  // namespace

bool announce_pieces(PyObject* graph_module, const Tracer& tracer, const Exit& exit, const std::string& name) {
  Division division;
  if (tracer.symbols.active())
    division.report = "sizes may differ from call to call";
  else if (inputs_share_written_memory(tracer, exit))
    division.report = "inputs share memory that is written to";
  else
    division = divide(tracer.graph, {exit.outputs, tracer.storages.writes, gradients_are_on(),
                                     gradients_are_on() && !tracer.limits.below_autograd});
  const Ref meta = Ref::steal(PyObject_GetAttrString(graph_module, "meta"));
  const Ref report = Ref::made(PyUnicode_FromString(division.report.c_str()));
  if (!meta || PyDict_SetItemString(meta.get(), "regions", report.get()) < 0) return false;
  if (division.pieces.empty()) return true;
  const Ref program = to_program(tracer.graph, division, exit.outputs, name);
  return program && PyDict_SetItemString(meta.get(), "pieces", program.get()) == 0;
}

}  // namespace minidynamo
