#include "tensor/autograd/below_autograd.h"

#include <ATen/autocast_mode.h>

namespace minidynamo {
namespace {

bool exchange_casts(c10::DeviceType device, bool on) noexcept {
  const bool before = at::autocast::is_autocast_enabled(device);
  if (before != on) at::autocast::set_autocast_enabled(device, on);
  return before;
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

}  // namespace minidynamo
