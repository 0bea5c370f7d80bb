// TorchState: what a compiled graph assumes of torch's thread-local and global settings.
#include <ATen/PythonTorchFunctionTLS.h>
#include <ATen/autocast_mode.h>
#include <c10/core/AutogradState.h>
#include <c10/core/impl/TorchDispatchModeTLS.h>

#include <array>
#include <vector>

#include "tensor/fake_tensor.h"
#include "tensor/float32_precision.h"
#include "tensor/metadata.h"

namespace minidynamo {
namespace {

constexpr std::array kAutocastDevices{c10::kCPU, c10::kCUDA};

const char* truth(bool value) { return value ? "True" : "False"; }

// Two device modes for one device are one state, whichever `with torch.device(...)` made them.
bool same_mode(PyObject* a, PyObject* b) noexcept {
  if (a == b) return true;
  if (Py_TYPE(a) != Py_TYPE(b) || std::string_view(Py_TYPE(a)->tp_name) != "DeviceContext") return false;
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  const Ref first = Ref::steal(PyObject_GetAttrString(a, "device"));
  const Ref second = first ? Ref::steal(PyObject_GetAttrString(b, "device")) : Ref();
  const bool same = second && PyObject_RichCompareBool(first.get(), second.get(), Py_EQ) == 1;
  PyErr_Restore(type, value, traceback);
  return same;
}

PyObject* mode_at(int64_t index) noexcept {
  return at::impl::PythonTorchFunctionTLS::get_stack_at(index)->ptr(c10::impl::getGlobalPyInterpreter());
}

// The settings that are plain values, compared as a whole first.
struct Settings {
  bool grad_mode, inference_mode, forward_grad;
  std::array<bool, kAutocastDevices.size()> autocast;
  std::array<c10::ScalarType, kAutocastDevices.size()> autocast_dtype;
  bool autocast_cache;
  c10::ScalarType default_dtype;
  bool deterministic, deterministic_warn_only;
  bool torch_function_enabled;
  int64_t torch_function_modes, dispatch_modes;
  uint64_t included_keys, excluded_keys;
  bool operator==(const Settings&) const = default;

  static Settings now() noexcept {
    const c10::AutogradState& autograd = c10::AutogradState::get_tls_state();
    const at::Context& context = at::globalContext();
    const c10::impl::LocalDispatchKeySet keys = c10::impl::tls_local_dispatch_key_set();
    Settings state{};
    state.grad_mode = autograd.get_grad_mode();
    state.inference_mode = autograd.get_inference_mode();
    state.forward_grad = autograd.get_fw_grad_mode();
    for (size_t i = 0; i < kAutocastDevices.size(); ++i) {
      state.autocast[i] = at::autocast::is_autocast_enabled(kAutocastDevices[i]);
      state.autocast_dtype[i] = at::autocast::get_autocast_dtype(kAutocastDevices[i]);
    }
    state.autocast_cache = at::autocast::is_autocast_cache_enabled();
    state.default_dtype = c10::get_default_dtype_as_scalartype();
    state.deterministic = context.deterministicAlgorithms();
    state.deterministic_warn_only = context.deterministicAlgorithmsWarnOnly();
    state.torch_function_enabled =
        at::impl::PythonTorchFunctionTLS::get_disabled_state() == at::impl::TorchFunctionDisabledState::ENABLED;
    state.torch_function_modes = at::impl::PythonTorchFunctionTLS::stack_len();
    state.dispatch_modes = c10::impl::TorchDispatchModeTLS::stack_len();
    state.included_keys = keys.included_.remove(c10::DispatchKey::Fake).raw_repr();
    state.excluded_keys = keys.excluded_.raw_repr();
    return state;
  }
};

std::string dtype_text(c10::ScalarType dtype) { return std::string("torch.") + torch::getTHPDtype(dtype)->name; }

}  // namespace

struct TorchState::Data {
  Settings settings;
  Float32Precisions precisions;
  std::vector<Ref> modes;
};

TorchState::TorchState(std::unique_ptr<Data> data) : data_(std::move(data)) {}
TorchState::TorchState(TorchState&&) noexcept = default;
TorchState& TorchState::operator=(TorchState&&) noexcept = default;
TorchState::~TorchState() = default;

TorchState TorchState::now() {
  auto data = std::make_unique<Data>(Data{Settings::now(), Float32Precisions::now(), {}});
  for (int64_t i = 0; i < data->settings.torch_function_modes; ++i) data->modes.push_back(Ref::borrow(mode_at(i)));
  return TorchState(std::move(data));
}

bool TorchState::matches() const noexcept {
  if (!(Settings::now() == data_->settings)) return false;
  if (!data_->precisions.unchanged() && !Float32Precisions::now().equivalent(data_->precisions)) return false;
  for (size_t i = 0; i < data_->modes.size(); ++i) {
    if (!same_mode(data_->modes[i].get(), mode_at(static_cast<int64_t>(i)))) return false;
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
  for (size_t i = 0; i < kAutocastDevices.size(); ++i) {
    const std::string device = c10::DeviceTypeName(kAutocastDevices[i], /*lower_case=*/true);
    if (now.autocast[i] != then.autocast[i]) {
      return flag(("autocast on " + device).c_str(), now.autocast[i], then.autocast[i]);
    }
    if (now.autocast_dtype[i] != then.autocast_dtype[i]) {
      return c10::str("autocast dtype on ", device, " is ", dtype_text(now.autocast_dtype[i]), ", expected ",
                      dtype_text(then.autocast_dtype[i]));
    }
  }
  if (now.autocast_cache != then.autocast_cache) return flag("autocast cache", now.autocast_cache, then.autocast_cache);
  if (now.default_dtype != then.default_dtype) {
    return c10::str("default dtype is ", dtype_text(now.default_dtype), ", expected ", dtype_text(then.default_dtype));
  }
  if (now.deterministic != then.deterministic || now.deterministic_warn_only != then.deterministic_warn_only) {
    return c10::str("deterministic algorithms are ", truth(now.deterministic),
                    " (warn only: ", truth(now.deterministic_warn_only), "), expected ", truth(then.deterministic),
                    " (", truth(then.deterministic_warn_only), ")");
  }
  if (now.torch_function_enabled != then.torch_function_enabled) {
    return flag("__torch_function__", now.torch_function_enabled, then.torch_function_enabled);
  }
  if (now.torch_function_modes != then.torch_function_modes) {
    return c10::str(now.torch_function_modes, " torch function modes are active, expected ", then.torch_function_modes);
  }
  if (now.dispatch_modes != then.dispatch_modes) {
    return c10::str(now.dispatch_modes, " torch dispatch modes are active, expected ", then.dispatch_modes);
  }
  if (now.included_keys != then.included_keys || now.excluded_keys != then.excluded_keys) {
    return "the thread's dispatch keys differ (a torch.func transform or dispatch mode)";
  }
  if (!Float32Precisions::now().equivalent(data_->precisions)) return "float32 matmul precision differs";
  for (size_t i = 0; i < data_->modes.size(); ++i) {
    if (!same_mode(data_->modes[i].get(), mode_at(static_cast<int64_t>(i)))) {
      return c10::str("torch function mode ", i, " is another one (",
                      Py_TYPE(mode_at(static_cast<int64_t>(i)))->tp_name, ")");
    }
  }
  return "";
}

std::string TorchState::to_text() const {
  const Settings& state = data_->settings;
  std::string text = c10::str("torch.is_grad_enabled() == ", truth(state.grad_mode),
                              " and torch.is_inference_mode_enabled() == ", truth(state.inference_mode));
  for (size_t i = 0; i < kAutocastDevices.size(); ++i) {
    const std::string device = c10::DeviceTypeName(kAutocastDevices[i], /*lower_case=*/true);
    text += c10::str(" and torch.is_autocast_enabled('", device, "') == ", truth(state.autocast[i]));
    if (state.autocast[i]) {
      text += c10::str(" and torch.get_autocast_dtype('", device, "') == ", dtype_text(state.autocast_dtype[i]));
    }
  }
  text += c10::str(" and torch.is_autocast_cache_enabled() == ", truth(state.autocast_cache),
                   " and torch.get_default_dtype() == ", dtype_text(state.default_dtype),
                   " and torch.are_deterministic_algorithms_enabled() == ", truth(state.deterministic),
                   " and torch._C._len_torch_function_stack() == ", state.torch_function_modes,
                   " and torch._C._len_torch_dispatch_stack() == ", state.dispatch_modes);
  return text;
}

}  // namespace minidynamo
