// Queries autograd about fakes: where their histories end, and which of them a backward pass has used up.
#pragma once
#include <memory>
#include <unordered_map>
#include <vector>

#include "python/ref.h"

namespace minidynamo {

// Where the histories of some tensors end.
struct HistoryEnds {
  std::vector<Ref> leaves;         // fakes whose gradients a backward pass computes
  bool is_partly_outside = false;  // some of it was computed before the trace
};
HistoryEnds ends_of_histories(const std::vector<PyObject*>& tensors);

// True if the history of a tensor is not its own alone: a leaf has none.
bool has_history(PyObject* tensor) noexcept;
// How torch calls what computed a tensor with a history: "MulBackward0".
Ref name_of_history(PyObject* tensor);

// (tensor, name): a tensor over the same memory with a history of that name, which ends in leaves that are not
// reachable: it requires a gradient, and a backward pass through it has no effect. Borrowed, alive for the life of the
// process.
PyObject* with_unseen_history_callable();
// (tensor, name): a tensor over the same memory whose history, of that name, a backward pass has used up: it requires a
// gradient, and another backward pass through it raises as torch does. Borrowed, alive for the life of the process.
PyObject* with_used_up_history_callable();

// The gradient that autograd is to find on a fake: a tensor or None.
void set_gradient(PyObject* fake, PyObject* gradient);

// The hooks that the engine calls around a node of autograd's graph, as Python sees the node (tensor.grad_fn): a dict
// whose values are called in their order. Null with a Python error: it is no node.
enum class NodeHooks : uint8_t { Before, After };
Ref hooks_of_node(PyObject* node, NodeHooks when);

// Histories whose buffers a backward pass has freed.
class UsedUpHistories {
 public:
  void add(const std::vector<PyObject*>& tensors);
  bool has(PyObject* tensor) const noexcept;

 private:
  std::unordered_map<const void*, std::shared_ptr<const void>>
      nodes_;  // which hold them, so that no address comes twice
};

}  // namespace minidynamo
