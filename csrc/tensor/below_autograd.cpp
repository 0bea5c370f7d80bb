#include "tensor/below_autograd.h"

#include <ATen/autocast_mode.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/saved_variable.h>
#include <torch/csrc/autograd/variable.h>

#include <string>

#include "python/native_function.h"
#include "tensor/python_errors.h"

namespace minidynamo {
namespace {

bool exchange_casts(c10::DeviceType device, bool on) noexcept {
  const bool before = at::autocast::is_autocast_enabled(device);
  if (before != on) at::autocast::set_autocast_enabled(device, on);
  return before;
}

// In the place of all that computed a tensor.
struct UsedUpHistory : torch::autograd::Node {
  explicit UsedUpHistory(std::string given) : text(std::move(given)) {}
  torch::autograd::variable_list apply(torch::autograd::variable_list&&) override {
    TORCH_CHECK(false, torch::autograd::ERR_BACKWARD_TWICE);
  }
  std::string name() const override { return text; }
  std::string text;
};

PyObject* with_used_up_history(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  if (count != 2 || !THPVariable_Check(arguments[0]) || !PyUnicode_Check(arguments[1])) {
    PyErr_SetString(PyExc_TypeError, "with_used_up_history(tensor, name)");
    return nullptr;
  }
  try {
    const at::Tensor& given = THPVariable_Unpack(arguments[0]);
    // One that is a view, or that somebody else has too, cannot get another history.
    at::Tensor result = given.detach();
    auto node = c10::make_intrusive<UsedUpHistory>(PyUnicode_AsUTF8(arguments[1]));
    torch::autograd::set_history(result, node);
    return THPVariable_Wrap(std::move(result));
  } catch (...) {
    set_python_error_from_exception();
    return nullptr;
  }
}

}  // namespace

BelowAutogradScope::BelowAutogradScope() noexcept
    : gradients_(c10::GradMode::is_enabled()),
      casts_on_cpu_(exchange_casts(c10::kCPU, false)),
      casts_on_cuda_(exchange_casts(c10::kCUDA, false)) {
  c10::GradMode::set_enabled(false);
}

BelowAutogradScope::~BelowAutogradScope() {
  c10::GradMode::set_enabled(gradients_);
  exchange_casts(c10::kCPU, casts_on_cpu_);
  exchange_casts(c10::kCUDA, casts_on_cuda_);
}

PyObject* with_used_up_history_callable() {
  return native_function<METH_FASTCALL, with_used_up_history>("with_used_up_history");
}

}  // namespace minidynamo
