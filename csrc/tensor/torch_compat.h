// The differences between the versions of torch that minidynamo can be built with. No other file asks for the version.
#pragma once
#include <torch/csrc/autograd/custom_function.h>
#include <torch/version.h>

#include <optional>
#include <unordered_set>
#include <vector>

#include "tensor/torch_headers.h"

#if TORCH_VERSION_MAJOR != 2 || TORCH_VERSION_MINOR < 13 || TORCH_VERSION_MINOR > 15
#error "this torch is not among those of minidynamo/_requirements.py"
#endif

#define MINIDYNAMO_NODE_CREATION_HOOKS (TORCH_VERSION_MINOR >= 14)  // torch.autograd.graph.node_creation_hook
#if MINIDYNAMO_NODE_CREATION_HOOKS
#include <ATen/NodeCreationHooks.h>
#endif

namespace minidynamo::torch_compat {

// True while the program has hooks for new nodes of the autograd graph on this thread.
inline bool has_node_creation_hooks() noexcept {
#if MINIDYNAMO_NODE_CREATION_HOOKS
  return !at::impl::NodeCreationHooks::empty();
#else
  return false;
#endif
}

// A node that was attached to results, before the hooks for new nodes are called with it.
class AttachedNode {
 public:
  // The results of a function without inputs written in place, with `node` as their history.
  std::vector<std::optional<at::Tensor>> attach(const torch::autograd::variable_list& inputs,
                                                const std::unordered_set<at::TensorImpl*>& not_differentiable,
                                                const std::vector<std::optional<at::Tensor>>& results,
                                                const c10::intrusive_ptr<torch::autograd::Node>& node,
                                                const torch::autograd::_jvp_fn_t& jvp,
                                                const torch::autograd::_view_as_self_fn_t& view_as_self) {
#if MINIDYNAMO_NODE_CREATION_HOOKS
    return torch::autograd::_wrap_outputs(inputs, not_differentiable, {}, results, node, jvp, {}, view_as_self, false,
                                          node_);
#else
    return torch::autograd::_wrap_outputs(inputs, not_differentiable, {}, results, node, jvp, {}, view_as_self, false);
#endif
  }

  // Once it holds all that it saves for the backward.
  void tell_hooks() const {
#if MINIDYNAMO_NODE_CREATION_HOOKS
    if (node_) torch::autograd::fire_node_creation_hooks(node_);
#endif
  }

 private:
#if MINIDYNAMO_NODE_CREATION_HOOKS
  c10::intrusive_ptr<torch::autograd::Node> node_;
#endif
};

}  // namespace minidynamo::torch_compat
