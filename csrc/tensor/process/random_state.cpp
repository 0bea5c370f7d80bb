#include "tensor/process/random_state.h"

#include <ATen/CPUGeneratorImpl.h>

#include <mutex>

namespace minidynamo {

struct RandomState::Saved {
  at::Generator copy;
};

RandomState::RandomState() : saved_(std::make_unique<Saved>()) {
  at::Generator own = at::detail::getDefaultCPUGenerator();
  const std::lock_guard lock(own.mutex());
  saved_->copy = own.clone();
}

RandomState::~RandomState() = default;

void RandomState::restore() const {
  at::Generator own = at::detail::getDefaultCPUGenerator();
  const std::lock_guard lock(own.mutex());
  own.set_state(saved_->copy.get_state());
}

}  // namespace minidynamo
