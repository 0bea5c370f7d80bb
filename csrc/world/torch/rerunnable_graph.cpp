#include "world/torch/rerunnable_graph.h"

#include <algorithm>
#include <string_view>

#include "python/objects/native_contents.h"
#include "tensor/fake/fake.h"
#include "world/external/known_types.h"
#include "world/native/code_origin.h"

namespace minidynamo {
namespace {

// True for a node that draws and makes new tensors.
bool is_draw(const Node& node) {
  static constinit Imported functions[] = {Imported{"torch.normal"},     Imported{"torch.rand"},
                                           Imported{"torch.randn"},      Imported{"torch.randint"},
                                           Imported{"torch.randperm"},   Imported{"torch.rand_like"},
                                           Imported{"torch.randn_like"}, Imported{"torch.randint_like"},
                                           Imported{"torch.bernoulli"},  Imported{"torch.multinomial"},
                                           Imported{"torch.poisson"},    Imported{"torch._standard_gamma"},
                                           Imported{"torch.binomial"},   Imported{"torch._sample_dirichlet"}};
  if (node.kind == NodeKind::CallMethod) {
    const char* name = PyUnicode_AsUTF8(node.target.get());
    return name && (std::string_view(name) == "bernoulli" || std::string_view(name) == "multinomial");
  }
  return node.kind == NodeKind::CallFunction &&
         std::ranges::any_of(functions, [&](PyObject* function) { return node.target.is(function); });
}

bool is_on_cpu(PyObject* tensor) {
  if (!tensor || !is_fake(tensor)) return false;
  const NativeScope native;
  const Ref answer = native_attribute(tensor, "is_cpu"_name);
  clear_error();
  return answer.is(Py_True);
}

// True if an impure node is an operator of torch's, which does nothing but write and draw.
bool only_computes(const Node& node) {
  if (!node.used || !node.impure || node.sets_mode || node.checks || node.kind == NodeKind::CallMethod) return true;
  if (node.kind != NodeKind::CallFunction) return node.kind == NodeKind::Placeholder;
  PyObject* target = node.target.get();
  const KnownTypes* known = known_types();
  if (PyCFunction_Check(target) || Py_TYPE(target) == known->op_overload ||
      Py_TYPE(target) == known->op_overload_packet)
    return true;
  return PyFunction_Check(target) && is_library_code(as_code(as_function(target)->func_code));
}

// The last node that may raise because of values.
std::optional<size_t> last_that_may_raise(const Tracer& tracer) {
  std::optional<size_t> last = tracer.storages.last_may_fail;
  const std::vector<Node>& nodes = tracer.graph.nodes();
  for (size_t i = 0; i < nodes.size(); ++i)
    if (nodes[i].used && nodes[i].checks) last = std::max(last.value_or(i), i);
  return last;
}

constexpr uint64_t kMostBytes = 1 << 20;  // that each call may copy

Repeatable with_same_inputs(const Tracer& tracer, const std::vector<Source*>& inputs) {
  const Storages& storages = tracer.storages;
  Repeatable repeatable{Repeatable::How::WithSameInputs};
  const std::optional<size_t> last = last_that_may_raise(tracer);
  if (!last || storages.is_shared_with_processes) return {};
  if (!std::ranges::all_of(tracer.graph.nodes(), only_computes)) return {};
  uint64_t all_bytes = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    PyObject* tensor = inputs[i]->value.get();
    PyObject* fake = is_tensor(tensor) ? tracer.world.replacement_of(tensor) : nullptr;
    uint64_t bytes = 0;
    if (!fake || !is_fake(fake) || !can_be_saved(tensor, bytes)) return {};
    if (!storages.is_written(fake)) continue;
    const auto first = storages.first_written.find(storage_of_fake(fake));
    const bool is_before = first == storages.first_written.end() || first->second < *last;
    (is_before ? repeatable.inputs.before : repeatable.inputs.behind).push_back(static_cast<uint32_t>(i));
    if (is_before) all_bytes += bytes;
  }
  return all_bytes <= kMostBytes ? repeatable : Repeatable{};
}

}  // namespace

Repeatable is_repeatable(const Tracer& tracer, const std::vector<Source*>& inputs) {
  if (tracer.graph.is_pure()) return {Repeatable::How::AsItIs};
  if (changes_no_input(tracer)) return {Repeatable::How::WithSameNumbers};
  return tracer.drawn.empty() ? with_same_inputs(tracer, inputs) : Repeatable{};
}

bool changes_no_input(const Tracer& tracer) {
  if (tracer.graph.is_pure()) return true;
  return tracer.storages.written.empty() && tracer.drawn.empty() &&
         std::ranges::all_of(tracer.graph.nodes(), [](const Node& node) {
           const bool is_harmless = !node.used || !node.impure || node.sets_mode || node.checks;
           return is_harmless || (is_draw(node) && is_on_cpu(node.example.get()));
         });
}

bool may_raise(const Tracer& tracer) { return last_that_may_raise(tracer).has_value(); }

}  // namespace minidynamo
