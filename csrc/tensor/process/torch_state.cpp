// TorchState: what a compiled graph assumes of torch's thread-local and global settings.
#include <ATen/Parallel.h>
#include <ATen/PythonTorchFunctionTLS.h>
#include <ATen/autocast_mode.h>
#include <c10/core/AutogradState.h>

#include <algorithm>
#include <array>
#include <vector>

#include "tensor/process/active_modes.h"

#include <torch/csrc/Dtype.h>
#include <torch/csrc/DynamicTypes.h>
#include "python/error_set_aside.h"
#include "tensor/fake/fake_tensor.h"
#include "tensor/fake/metadata.h"
#include "tensor/process/float32_precision.h"
#include "tensor/process/function_mode_stack.h"
#include "tensor/process/kernel_settings.h"

namespace minidynamo {
namespace {

// Whose autocast dtype a program reads while autocast is off, too.
constexpr std::array kAutocastDevices{c10::kCPU, c10::kCUDA};

const char* truth(bool value) { return value ? "True" : "False"; }

// Two device modes for one device are one state, whichever `with torch.device(...)` made them. Of others only how many
// there are is part of the state: a trace enters each of them as an object (hook/capture/trace_frame.cpp).
bool same_mode(PyObject* a, PyObject* b) noexcept {
  if (a == b) return true;
  if (!a || !is_device_mode(b)) return !a && !is_device_mode(b);
  const ErrorSetAside error;
  const Ref first = Ref::steal(PyObject_GetAttrString(a, "device"));
  const Ref second = first ? Ref::steal(PyObject_GetAttrString(b, "device")) : Ref();
  const bool same = second && PyObject_RichCompareBool(first.get(), second.get(), Py_EQ) == 1;
  return same;
}

// The settings that are plain values, compared as a whole first.
struct Settings {
  bool grad_mode, inference_mode, forward_grad, view_replay;
  bool autocast_cache;
  bool autograd_as_usual;
  c10::ScalarType default_dtype;
  at::impl::TorchFunctionDisabledState torch_function;
  // Which devices autocast acts on is in the excluded keys; which dispatch modes there are, in the included ones.
  std::array<c10::ScalarType, kAutocastDevices.size()> autocast_dtype;
  int threads;
  int64_t torch_function_modes;
  uint64_t included_keys, excluded_keys;
  bool operator==(const Settings&) const = default;

  static Settings now() noexcept {
    const c10::AutogradState& autograd = c10::AutogradState::get_tls_state();
    const c10::impl::LocalDispatchKeySet keys = c10::impl::tls_local_dispatch_key_set();
    Settings state{};
    state.grad_mode = autograd.get_grad_mode();
    state.inference_mode = autograd.get_inference_mode();
    state.forward_grad = autograd.get_fw_grad_mode();
    state.view_replay = autograd.get_view_replay_enabled();
    state.autocast_cache = at::autocast::is_autocast_cache_enabled();
    state.autograd_as_usual = is_autograd_as_usual();
    state.default_dtype = c10::get_default_dtype_as_scalartype();
    state.torch_function = at::impl::PythonTorchFunctionTLS::get_disabled_state();
    for (size_t i = 0; i < kAutocastDevices.size(); ++i)
      state.autocast_dtype[i] = at::autocast::get_autocast_dtype(kAutocastDevices[i]);
    state.threads = at::get_num_threads();
    state.torch_function_modes = at::impl::PythonTorchFunctionTLS::stack_len();
    state.included_keys = keys.included_.remove(c10::DispatchKey::Fake).raw_repr();
    state.excluded_keys = keys.excluded_.raw_repr();
    return state;
  }
};

using AutocastDtypes = std::array<c10::ScalarType, at::autocast::_AUTOCAST_SUPPORTED_DEVICES.size()>;

// The dtypes of the devices that autocast knows; needed only where it acts on one.
AutocastDtypes autocast_dtypes() noexcept {
  AutocastDtypes dtypes;
  for (size_t i = 0; i < dtypes.size(); ++i)
    dtypes[i] = at::autocast::get_autocast_dtype(at::autocast::_AUTOCAST_SUPPORTED_DEVICES[i]);
  return dtypes;
}

bool autocast_acts(const Settings& settings) noexcept {
  const uint64_t all = c10::autocast_dispatch_keyset.raw_repr();
  return (settings.excluded_keys & all) != all;
}

bool is_excluded(const Settings& settings, c10::DeviceType device) noexcept {
  return c10::DispatchKeySet(c10::DispatchKeySet::RAW, settings.excluded_keys)
      .has(at::autocast::get_autocast_dispatch_key_from_device_type(device));
}

std::string dtype_text(c10::ScalarType dtype) { return std::string("torch.") + torch::getTHPDtype(dtype)->name; }

}  // namespace

struct TorchState::Data {
  Settings settings;
  KernelSettings kernels;
  Float32Precisions precisions;
  AutocastDtypes autocast_dtypes;
  std::vector<Ref> modes;
};

TorchState::TorchState(std::unique_ptr<Data> data) : data_(std::move(data)) {}
TorchState::TorchState(TorchState&&) noexcept = default;
TorchState& TorchState::operator=(TorchState&&) noexcept = default;
TorchState::~TorchState() = default;

TorchState TorchState::now() {
  auto data = std::make_unique<Data>(
      Data{Settings::now(), KernelSettings::now(), Float32Precisions::now(), autocast_dtypes(), {}});
  auto note = [&](PyObject* mode) { data->modes.push_back(is_device_mode(mode) ? Ref::borrow(mode) : Ref()); };
  for (size_t i = 0; i < function_mode_count(); ++i) note(function_mode_at(i));
  for (const Ref& mode : FunctionModesAside::current()) note(mode.get());
  data->settings.torch_function_modes = static_cast<int64_t>(data->modes.size());
  return TorchState(std::move(data));
}

bool TorchState::matches() const noexcept {
  if (!(Settings::now() == data_->settings) || !data_->kernels.unchanged()) return false;
  if (autocast_acts(data_->settings) && autocast_dtypes() != data_->autocast_dtypes) return false;
  if (!data_->precisions.unchanged() && !Float32Precisions::now().equivalent(data_->precisions)) return false;
  for (size_t i = 0; i < data_->modes.size(); ++i) {
    if (!same_mode(data_->modes[i].get(), function_mode_at(i))) return false;
  }
  return true;
}

std::string TorchState::difference() const {
  const Settings now = Settings::now();
  const Settings& then = data_->settings;
  const auto flag = [](const char* name, bool is, bool was) {
    return c10::str(name, " is ", truth(is), ", expected ", truth(was));
  };
  if (now.grad_mode != then.grad_mode) return flag("grad mode", now.grad_mode, then.grad_mode);
  if (now.inference_mode != then.inference_mode) return flag("inference mode", now.inference_mode, then.inference_mode);
  if (now.forward_grad != then.forward_grad) return flag("forward-mode AD", now.forward_grad, then.forward_grad);
  if (now.view_replay != then.view_replay) return flag("replay of views", now.view_replay, then.view_replay);
  const AutocastDtypes dtypes = autocast_dtypes();
  for (size_t i = 0; i < dtypes.size(); ++i) {
    const c10::DeviceType type = at::autocast::_AUTOCAST_SUPPORTED_DEVICES[i];
    const std::string device = c10::DeviceTypeName(type, /*lower_case=*/true);
    if (is_excluded(now, type) != is_excluded(then, type))
      return flag(("autocast on " + device).c_str(), !is_excluded(now, type), !is_excluded(then, type));
    const bool is_read = std::find(kAutocastDevices.begin(), kAutocastDevices.end(), type) != kAutocastDevices.end();
    if (dtypes[i] != data_->autocast_dtypes[i] && (is_read || autocast_acts(then)))
      return c10::str("autocast dtype on ", device, " is ", dtype_text(dtypes[i]), ", expected ",
                      dtype_text(data_->autocast_dtypes[i]));
  }
  if (now.autocast_cache != then.autocast_cache) return flag("autocast cache", now.autocast_cache, then.autocast_cache);
  if (now.default_dtype != then.default_dtype) {
    return c10::str("default dtype is ", dtype_text(now.default_dtype), ", expected ", dtype_text(then.default_dtype));
  }
  if (!now.autograd_as_usual) return active_mode() ? active_mode() : "autograd records in another way";
  if (now.torch_function != then.torch_function) {
    const auto is_on = [](const Settings& settings) {
      return settings.torch_function == at::impl::TorchFunctionDisabledState::ENABLED;
    };
    return flag("__torch_function__", is_on(now), is_on(then));
  }
  if (now.threads != then.threads) return c10::str("torch uses ", now.threads, " threads, expected ", then.threads);
  if (now.torch_function_modes != then.torch_function_modes) {
    return c10::str(now.torch_function_modes, " torch function modes are active, expected ", then.torch_function_modes);
  }
  if (now.included_keys != then.included_keys || now.excluded_keys != then.excluded_keys) {
    if (const char* mode = active_mode()) return mode;
    return "the thread's dispatch keys differ";
  }
  if (!data_->kernels.unchanged()) return c10::str("torch's setting is another one: ", data_->kernels.changed());
  if (!Float32Precisions::now().equivalent(data_->precisions)) return "float32 matmul precision differs";
  for (size_t i = 0; i < data_->modes.size(); ++i) {
    if (!same_mode(data_->modes[i].get(), function_mode_at(i))) {
      return c10::str("torch function mode ", i, " is another one (", Py_TYPE(function_mode_at(i))->tp_name, ")");
    }
  }
  return "";
}

std::string TorchState::to_text() const {
  const Settings& state = data_->settings;
  std::string text = c10::str("torch.is_grad_enabled() == ", truth(state.grad_mode),
                              " and torch.is_inference_mode_enabled() == ", truth(state.inference_mode));
  const auto dtype_of = [&](c10::DeviceType device) {
    const auto& devices = at::autocast::_AUTOCAST_SUPPORTED_DEVICES;
    return data_->autocast_dtypes[std::find(devices.begin(), devices.end(), device) - devices.begin()];
  };
  for (const c10::DeviceType type : kAutocastDevices) {
    const std::string device = c10::DeviceTypeName(type, /*lower_case=*/true);
    const bool is_on = !is_excluded(state, type);
    text += c10::str(" and torch.is_autocast_enabled('", device, "') == ", truth(is_on));
    if (is_on) text += c10::str(" and torch.get_autocast_dtype('", device, "') == ", dtype_text(dtype_of(type)));
  }
  text += c10::str(" and torch.is_autocast_cache_enabled() == ", truth(state.autocast_cache),
                   " and torch.get_default_dtype() == ", dtype_text(state.default_dtype),
                   " and torch.get_num_threads() == ", state.threads,
                   " and torch._C._len_torch_function_stack() == ", state.torch_function_modes,
                   " and torch._C._len_torch_dispatch_stack() == 0  # and torch's settings for kernels are the same");
  return text;
}

}  // namespace minidynamo
