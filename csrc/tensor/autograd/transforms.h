// The transforms of torch.func and forward-mode AD, as a trace sees them: functorch's real levels are entered on the
// tracing thread, and its wrappers lie around fakes. What reaches the Fake key has passed all levels: a plain operator.
#pragma once
#include <cstdint>
#include <vector>

#include "python/ref.h"

namespace minidynamo {

// A tensor that a level of functorch made around another one (a BatchedTensor, a TensorWrapper).
bool is_transform_wrapper(PyObject* object) noexcept;

// True if this thread is within a level, or in another state that only a transform sets: how far forward-mode AD is on,
// true if autograd may save tensors by hooks.
struct TransformState {
  int64_t levels = 0, dual_levels = 0, legacy_levels = 0;
  bool forward_gradients = true, saves_by_hooks = true;
  bool operator==(const TransformState&) const noexcept = default;
  static TransformState now() noexcept;
};

// torch._C._enter_dual_level and _exit_dual_level count here what the thread's trace has entered.
void entered_dual_level() noexcept;
void left_dual_level() noexcept;
// Leaves the levels above these, as their transforms do at their end: wrappers that are still alive know it.
void leave_transforms_above(const TransformState& state) noexcept;
// True if forward-mode AD has a level in the process.
bool has_dual_level() noexcept;

bool grad_mode_enabled() noexcept;

// True if two fakes are the same tensor for a computation: autograd returns what it has saved as another object of the
// same storage, layout and history.
bool are_same_fake(PyObject* one, PyObject* other) noexcept;
// True if they are the same tensor but perhaps for their history.
bool show_same_memory(PyObject* one, PyObject* other) noexcept;
// True if the history of a fake ends in one of these leaves, or it is a view that was made before its base became one.
bool comes_from(PyObject* fake, const std::vector<PyObject*>& leaves);

}  // namespace minidynamo
