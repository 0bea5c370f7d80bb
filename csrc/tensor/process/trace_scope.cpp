// The thread's tracing state: who observes operators, and what of torch's state a trace may change and must find
// restored.
//
// Nothing random is drawn under a trace (random operators only compute metadata), so generators are left alone.
//
// What belongs to the process (default dtype, determinism, precisions) no traced program changes: no rule executes what
// would. It is put back all the same, for Python code that runs natively meanwhile, but only if no other thread has
// run: what that one has set is its own to keep.
#include <ATen/autocast_mode.h>
#include <ATen/record_function.h>

#include <optional>

#include "python/cached.h"
#include "python/error_set_aside.h"
#include "python/named_item.h"
#include "python/process/out_of_memory.h"
#include "python/process/thread_switches.h"
#include "tensor/fake/fake_tensor.h"

#include <torch/csrc/DynamicTypes.h>
#include "tensor/autograd/transforms.h"
#include "tensor/process/float32_precision.h"
#include "tensor/process/override_probe.h"
#include "tensor/process/thread_modes.h"
#include "tensor/process/trace_state.h"
#include "tensor/values/known_storages.h"
#include "tensor/values/real_storages.h"

namespace minidynamo {
namespace {

thread_local OperatorObserver* observer = nullptr;

// The default device is a Python global beside the mode on the __torch_function__ stack.
Ref default_device_namespace() {
  static constinit CachedObject dictionary{[](const char* name) {
                                             const Ref module = Ref::steal(PyImport_ImportModule(name));
                                             return module ? Ref::borrow(PyModule_GetDict(module.get())) : Ref();
                                           },
                                           "torch.utils._device"};
  if (!dictionary.get()) clear_error();
  return Ref::borrow(dictionary);
}

constexpr const char* kDefaultDevice = "CURRENT_DEVICE";

// torch.set_default_dtype also sets Python-side defaults, so it is asked to restore it.
void restore_default_dtype(c10::ScalarType dtype) {
  if (c10::get_default_dtype_as_scalartype() == dtype) return;
  const Ref module = Ref::steal(PyImport_ImportModule("torch"));
  Ref done;
  if (module) {
    done = Ref::steal(PyObject_CallMethod(module.get(), "set_default_dtype", "O", torch::getTHPDtype(dtype)));
  }
  if (!done) {
    clear_error();
    c10::set_default_dtype(c10::scalarTypeToTypeMeta(dtype));
  }
}

}  // namespace

namespace {

void set_included(c10::DispatchKeySet keys) noexcept {
  c10::impl::LocalDispatchKeySet local = c10::impl::tls_local_dispatch_key_set();
  local.included_ = keys;
  c10::impl::_force_tls_local_dispatch_key_set(local);
}

}  // namespace

OperatorObserver* current_observer() noexcept { return observer; }
OperatorObserver* exchange_observer(OperatorObserver* next) noexcept { return std::exchange(observer, next); }

struct TensorTraceScope::Saved {
  ThreadModes modes;
  OperatorObserver* observer;
  c10::ScalarType default_dtype;
  bool deterministic, deterministic_warn_only, deterministic_fill;
  Float32Precisions precisions;
  Ref default_device;
  unsigned long thread_switches;
  KnownStorages known;
  RealStorages real_storages;
  TransformState transforms;
  std::optional<SubclassesMuted> muted = {};
};

TensorTraceScope::TensorTraceScope(OperatorObserver& new_observer) {
  // An enclosing trace hears of its operators before this one begins.
  if (observer && !flush_operator_reports()) clear_error();
  install_fake_fallback();
  const at::Context& context = at::globalContext();
  const Ref devices = default_device_namespace();
  saved_ = new Saved{.modes = {},
                     .observer = observer,
                     .default_dtype = c10::get_default_dtype_as_scalartype(),
                     .deterministic = context.deterministicAlgorithms(),
                     .deterministic_warn_only = context.deterministicAlgorithmsWarnOnly(),
                     .deterministic_fill = context.deterministicFillUninitializedMemory(),
                     .precisions = Float32Precisions::now(),
                     .default_device = Ref::borrow(devices ? named_item(devices.get(), kDefaultDevice) : nullptr),
                     .thread_switches = thread_switches(),
                     .known = KnownStorages::of_thread().take(),
                     .real_storages = RealStorages::of_thread().take(),
                     .transforms = TransformState::now()};
  exchange_observer(&new_observer);
  // A profiler would look at the data of fakes, and count what the program never did.
  at::enableRecordFunction(false);
  c10::impl::tls_set_dispatch_key_included(c10::DispatchKey::Fake, true);
  saved_->muted.emplace();
}

TensorTraceScope::~TensorTraceScope() {
  const std::unique_ptr<Saved> saved(saved_);
  // A trace that fails ends here with its Python error set.
  const ErrorSetAside error;
  drop_operator_reports();
  saved->muted.reset();
  exchange_observer(saved->observer);
  KnownStorages::of_thread() = std::move(saved->known);
  RealStorages::of_thread() = std::move(saved->real_storages);
  leave_transforms_above(saved->transforms);
  saved->modes.restore(false);
  if (thread_switches() == saved->thread_switches) {
    at::Context& context = at::globalContext();
    if (context.deterministicAlgorithms() != saved->deterministic ||
        context.deterministicAlgorithmsWarnOnly() != saved->deterministic_warn_only) {
      context.setDeterministicAlgorithms(saved->deterministic, saved->deterministic_warn_only);
    }
    if (context.deterministicFillUninitializedMemory() != saved->deterministic_fill) {
      context.setDeterministicFillUninitializedMemory(saved->deterministic_fill);
    }
    if (!Float32Precisions::now().identical(saved->precisions)) saved->precisions.restore();
    restore_default_dtype(saved->default_dtype);
    Ref devices;
    try_to([&] { devices = default_device_namespace(); });
    if (devices && saved->default_device && named_item(devices.get(), kDefaultDevice) != saved->default_device.get() &&
        PyDict_SetItemString(devices.get(), kDefaultDevice, saved->default_device.get()) < 0) {
      clear_error();
    }
  }
  // Casts of fake weights are forgotten, but not with the program's own: inside of its autocast they go when that ends.
  // Last, since other threads may run then.
  if (!saved->modes.were_within_autocast()) ThreadModes::forget_casts();
}

TensorTraceSuspended::TensorTraceSuspended()
    : included_(c10::impl::tls_local_dispatch_key_set().included_.raw_repr()), observer_(exchange_observer(nullptr)) {
  constexpr c10::DispatchKeySet kOfTrace{c10::DispatchKey::Fake, c10::DispatchKey::FuncTorchDynamicLayerFrontMode,
                                         c10::DispatchKey::FuncTorchDynamicLayerBackMode};
  set_included(c10::DispatchKeySet(c10::DispatchKeySet::RAW, included_) - kOfTrace);
}

TensorTraceSuspended::~TensorTraceSuspended() {
  set_included(c10::DispatchKeySet(c10::DispatchKeySet::RAW, included_));
  exchange_observer(observer_);
}

}  // namespace minidynamo
