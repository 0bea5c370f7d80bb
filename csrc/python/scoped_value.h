// A variable that has another value as long as a scope lasts, however that ends.
#pragma once
#include <utility>

namespace minidynamo {

template <class T>
class ScopedValue {
 public:
  ScopedValue(T& variable, T value) noexcept : variable_(variable), outer_(std::exchange(variable, std::move(value))) {}
  ~ScopedValue() { variable_ = std::move(outer_); }
  ScopedValue(const ScopedValue&) = delete;

 private:
  T& variable_;
  T outer_;
};

}  // namespace minidynamo
