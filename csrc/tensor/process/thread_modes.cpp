#include "tensor/process/thread_modes.h"

#include <ATen/ThreadLocalState.h>
#include <ATen/autocast_mode.h>
#include <c10/core/GradMode.h>

#include <array>

#include "python/ref.h"

namespace minidynamo {
namespace {

constexpr auto& kDevices = at::autocast::_AUTOCAST_SUPPORTED_DEVICES;

int autocast_nesting() {
  const int nesting = at::autocast::increment_nesting() - 1;
  at::autocast::decrement_nesting();
  return nesting;
}

}  // namespace

struct ThreadModes::Saved {
  at::ThreadLocalState state;  // grad mode, inference mode, on which devices autocast acts
  int nesting = autocast_nesting();
  bool keeps_casts = at::autocast::is_autocast_cache_enabled();
  std::array<at::ScalarType, kDevices.size()> dtypes{};
};

bool gradients_are_on() noexcept { return c10::GradMode::is_enabled(); }
void set_gradients(bool on) noexcept { c10::GradMode::set_enabled(on); }

ThreadModes::ThreadModes() : saved_(std::make_unique<Saved>()) {
  for (size_t i = 0; i < kDevices.size(); ++i) saved_->dtypes[i] = at::autocast::get_autocast_dtype(kDevices[i]);
}

ThreadModes::~ThreadModes() = default;

bool ThreadModes::were_within_autocast() const noexcept { return saved_->nesting > 0; }

void ThreadModes::restore(bool forgets_casts) const {
  at::ThreadLocalState::setThreadLocalState(saved_->state);
  at::autocast::set_autocast_cache_enabled(saved_->keeps_casts);
  for (size_t i = 0; i < kDevices.size(); ++i) at::autocast::set_autocast_dtype(kDevices[i], saved_->dtypes[i]);
  const int left_open = autocast_nesting() - saved_->nesting;
  for (int i = 0; i < left_open; ++i) at::autocast::decrement_nesting();
  for (int i = left_open; i < 0; ++i) at::autocast::increment_nesting();
  if (forgets_casts && left_open > 0 && !were_within_autocast()) forget_casts();
}

void ThreadModes::forget_casts() noexcept {
  PyThreadState* const thread = PyEval_SaveThread();
  at::autocast::clear_cache();
  PyEval_RestoreThread(thread);
}

}  // namespace minidynamo
