#include "world/repeatable_graph.h"

#include <algorithm>
#include <string_view>

#include "python/native_contents.h"
#include "tensor/fake.h"
#include "world/known_types.h"

namespace minidynamo {
namespace {

// What draws, and gives new tensors.
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
  static PyObject* const name = interned("is_cpu");
  if (!tensor || !is_fake(tensor)) return false;
  const NativeScope native;
  const Ref answer = native_attribute(tensor, name);
  clear_error();
  return answer.is(Py_True);
}

}  // namespace

Repeatable is_repeatable(const Tracer& tracer) {
  if (tracer.graph.is_pure()) return Repeatable::AsItIs;
  const bool only_draws = tracer.storages.written.empty() && tracer.drawn.empty() &&
                          std::ranges::all_of(tracer.graph.nodes(), [](const Node& node) {
                            const bool is_harmless = !node.used || !node.impure || node.sets_mode || node.checks;
                            return is_harmless || (is_draw(node) && is_on_cpu(node.example.get()));
                          });
  return only_draws ? Repeatable::WithSameNumbers : Repeatable::No;
}

bool has_checks(const Tracer& tracer) {
  return std::ranges::any_of(tracer.graph.nodes(), [](const Node& node) { return node.used && node.checks; });
}

}  // namespace minidynamo
