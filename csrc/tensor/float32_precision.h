// The precision settings of float32 matrix products and convolutions, one value per (backend, kind of operator).
#pragma once
#include <array>

#include <ATen/Context.h>

namespace minidynamo {

struct Float32Precisions {
  static constexpr std::array kBackends{at::Float32Backend::GENERIC, at::Float32Backend::CUDA, at::Float32Backend::MKLDNN};
  static constexpr std::array kOperators{at::Float32Op::ALL, at::Float32Op::CONV, at::Float32Op::RNN,
                                         at::Float32Op::MATMUL};

  std::array<at::Float32Precision, kBackends.size() * kOperators.size()> values;

  static Float32Precisions now() {
    Float32Precisions result;
    size_t i = 0;
    for (auto backend : kBackends) {
      for (auto kind : kOperators) result.values[i++] = at::globalContext().float32Precision(backend, kind);
    }
    return result;
  }
  void restore() const {
    size_t i = 0;
    for (auto backend : kBackends) {
      for (auto kind : kOperators) at::globalContext().setFloat32Precision(backend, kind, values[i++]);
    }
  }
  bool operator==(const Float32Precisions&) const = default;
};

}  // namespace minidynamo
