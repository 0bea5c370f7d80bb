#include "tensor/process/active_modes.h"

#include <ATen/SavedTensorHooks.h>
#include <c10/core/DispatchKeySet.h>
#include <torch/csrc/autograd/anomaly_mode.h>

#include "python/cached.h"
#include "python/process/memory_word.h"
#include "tensor/fake/fake_tensor.h"
#include "tensor/torch_compat.h"

namespace minidynamo {
namespace {

constexpr c10::DispatchKeySet kTransforms{c10::DispatchKey::FuncTorchDynamicLayerFrontMode,
                                          c10::DispatchKey::FuncTorchDynamicLayerBackMode,
                                          c10::DispatchKey::FuncTorchGradWrapper,
                                          c10::DispatchKey::FuncTorchBatched,
                                          c10::DispatchKey::FuncTorchVmapMode,
                                          c10::DispatchKey::FuncTorchBatchedDecomposition,
                                          c10::DispatchKey::VmapMode,
                                          c10::DispatchKey::Batched};
constexpr c10::DispatchKeySet kPythonModes{c10::DispatchKey::Python, c10::DispatchKey::PythonTLSSnapshot,
                                           c10::DispatchKey::PythonDispatcher};
// The dispatch keys of a thread without active modes; inference mode removes one.
constexpr c10::DispatchKeySet kUsual = c10::default_included_set | c10::DispatchKeySet(c10::DispatchKey::Fake);

// torch keeps the number in a module. Where the names of that module are as they were, so is the number.
bool has_forward_level() noexcept {
  static constinit MemoryWord seen{nullptr, 0};
  if (seen.address && seen.is_unchanged()) return false;
  static constinit CachedObject module{[](const char* name) { return Ref::steal(PyImport_ImportModule(name)); },
                                       "torch.autograd.forward_ad"};
  bool has_level = false;
  try_to([&] {
    if (!module.get()) return clear_error();
    PyObject* names = PyModule_GetDict(module);
    PyObject* level = PyDict_GetItemWithError(names, "_current_level"_name);
    has_level = level && PyLong_Check(level) && PyLong_AsLong(level) >= 0;
    if (!has_level) seen = version_word(names);
  });
  return has_level;
}

}  // namespace

bool is_autograd_as_usual() noexcept {
  return at::SavedTensorDefaultHooks::get_tls_state().stack.empty() && !torch_compat::has_node_creation_hooks() &&
         !torch::autograd::AnomalyMode::is_enabled() && !has_forward_level();
}

const char* active_mode() noexcept {
  const c10::DispatchKeySet included = c10::impl::tls_local_dispatch_key_set().included_;
  if (included.has_any(kTransforms)) return "a torch.func transform is active";
  if (included.has(c10::DispatchKey::Tracer)) return "torch.jit.trace is active";
  if (included.has_any(kPythonModes)) return "a TorchDispatchMode is active";
  if (!kUsual.has_all(included)) return "something in the thread changes where operations go";
  if (torch::autograd::AnomalyMode::is_enabled()) return "autograd's anomaly detection is active";
  if (has_forward_level()) return "a level of forward-mode AD is active";
  if (torch_compat::has_node_creation_hooks()) return "a hook for new nodes of the autograd graph is active";
  if (!is_autograd_as_usual()) return "hooks for the tensors that autograd saves are active";
  return nullptr;
}

}  // namespace minidynamo
