#include "tensor/autograd/transforms.h"

#include <ATen/LegacyVmapMode.h>
#include <ATen/SavedTensorHooks.h>
#include <c10/core/AutogradState.h>
#include <torch/csrc/autograd/forward_grad.h>
#include <torch/csrc/autograd/functions/accumulate_grad.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <unordered_set>

#include "python/cached.h"
#include "tensor/fake/fake.h"
#include "tensor/fake/fake_tensor.h"
#include "tensor/fake/tensor_object.h"

namespace minidynamo {
namespace {

constexpr c10::DispatchKeySet kWrappers{c10::DispatchKey::FuncTorchGradWrapper, c10::DispatchKey::FuncTorchBatched,
                                        c10::DispatchKey::Batched};

thread_local int64_t entered_duals = 0;  // by this thread's trace

// torch does not install all headers of functorch.
Ref functorch_function(const char* name) {
  const Ref module = Ref::steal(PyImport_ImportModule("torch._C._functorch"));
  return module ? Ref::steal(PyObject_GetAttrString(module.get(), name)) : Ref();
}

bool has_levels() noexcept {
  return c10::impl::tls_is_dispatch_key_included(c10::DispatchKey::FuncTorchDynamicLayerFrontMode);
}

int64_t level_count() {
  static constinit CachedObject depth{functorch_function, "get_dynamic_layer_stack_depth"};
  if (!has_levels()) return 0;
  const Ref count = Ref::steal(PyObject_CallNoArgs(depth));
  return count ? PyLong_AsLongLong(count.get()) : 0;
}

}  // namespace

bool is_transform_wrapper(PyObject* object) noexcept {
  return is_tensor(object) && unpack_tensor(object).key_set().has_any(kWrappers);
}

TransformState TransformState::now() noexcept {
  TransformState state;
  state.levels = level_count();
  state.dual_levels = entered_duals;
  state.legacy_levels = at::impl::VmapMode::current_vmap_level();
  state.forward_gradients = c10::AutogradState::get_tls_state().get_fw_grad_mode();
  state.saves_by_hooks = !at::SavedTensorDefaultHooks::get_disabled_error_message().has_value();
  return state;
}

void entered_dual_level() noexcept { ++entered_duals; }
void left_dual_level() noexcept { --entered_duals; }

void leave_transforms_above(const TransformState& state) noexcept {
  try {
    static constinit CachedObject pop{functorch_function, "pop_dynamic_layer_stack_and_undo_to_depth"};
    if (has_levels() && !Ref::steal(PyObject_CallFunction(pop, "L", static_cast<long long>(state.levels))))
      clear_error();
    for (; entered_duals > state.dual_levels; --entered_duals)
      torch::autograd::ForwardADLevel::release_idx(static_cast<uint64_t>(entered_duals - 1));
    while (at::impl::VmapMode::current_vmap_level() > state.legacy_levels) at::impl::VmapMode::decrement_nesting();
  } catch (const std::exception&) {  // somebody else has left them: the thread's state is put back all the same
  }
}

bool has_dual_level() noexcept { return torch::autograd::ForwardADLevel::try_get_by_idx(0) != nullptr; }

bool grad_mode_enabled() noexcept { return c10::GradMode::is_enabled(); }

bool show_same_memory(PyObject* one, PyObject* other) noexcept {
  const at::Tensor &a = unpack_tensor(one), &b = unpack_tensor(other);
  if (!is_fake_tensor(a) || !is_fake_tensor(b)) return false;
  return same_storage(a.unsafeGetTensorImpl()->unsafe_storage(), b.unsafeGetTensorImpl()->unsafe_storage()) &&
         FakeLayout::of(a) == FakeLayout::of(b);
}

bool are_same_fake(PyObject* one, PyObject* other) noexcept {
  const at::Tensor &a = unpack_tensor(one), &b = unpack_tensor(other);
  return show_same_memory(one, other) && a.requires_grad() == b.requires_grad() && a.grad_fn() == b.grad_fn() &&
         a.output_nr() == b.output_nr() && (!a.requires_grad() || a.grad_fn());
}

bool comes_from(PyObject* fake, const std::vector<PyObject*>& leaves) {
  const at::Tensor& tensor = unpack_tensor(fake);
  std::unordered_set<const torch::autograd::Node*> seen;
  std::vector<torch::autograd::Node*> open;
  auto is_leaf = [&](const at::Tensor& found) {
    return std::any_of(leaves.begin(), leaves.end(), [&](PyObject* leaf) {
      return unpack_tensor(leaf).unsafeGetTensorImpl() == found.unsafeGetTensorImpl();
    });
  };
  if (is_leaf(tensor)) return true;
  const auto* view = torch::autograd::impl::get_view_autograd_meta(tensor);
  if (view && view->has_bw_view() && is_leaf(view->get_backward_view().base_)) return true;
  if (tensor.grad_fn()) open.push_back(tensor.grad_fn().get());
  while (!open.empty()) {
    torch::autograd::Node* node = open.back();
    open.pop_back();
    if (!seen.insert(node).second) continue;
    if (auto* gradient = dynamic_cast<torch::autograd::AccumulateGrad*>(node); gradient && is_leaf(gradient->variable))
      return true;
    for (const torch::autograd::Edge& edge : node->next_edges())
      if (edge.function) open.push_back(edge.function.get());
  }
  return false;
}

}  // namespace minidynamo
