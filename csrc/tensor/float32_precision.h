// The precision settings of float32 matrix products and convolutions, one value per (backend, kind of operator).
#pragma once
#include <array>
#include <utility>

#include <ATen/Context.h>

namespace minidynamo {

struct Float32Precisions {
  // GENERIC has one setting for all its operators.
  static constexpr std::array kSettings{
      std::pair{at::Float32Backend::GENERIC, at::Float32Op::ALL},  std::pair{at::Float32Backend::CUDA, at::Float32Op::ALL},
      std::pair{at::Float32Backend::CUDA, at::Float32Op::CONV},    std::pair{at::Float32Backend::CUDA, at::Float32Op::RNN},
      std::pair{at::Float32Backend::CUDA, at::Float32Op::MATMUL},  std::pair{at::Float32Backend::MKLDNN, at::Float32Op::ALL},
      std::pair{at::Float32Backend::MKLDNN, at::Float32Op::CONV},  std::pair{at::Float32Backend::MKLDNN, at::Float32Op::RNN},
      std::pair{at::Float32Backend::MKLDNN, at::Float32Op::MATMUL}};

  std::array<at::Float32Precision, kSettings.size()> values;

  static Float32Precisions now() {
    Float32Precisions result;
    for (size_t i = 0; i < kSettings.size(); ++i)
      result.values[i] = at::globalContext().float32Precision(kSettings[i].first, kSettings[i].second);
    return result;
  }
  void restore() const {
    for (size_t i = 0; i < kSettings.size(); ++i)
      at::globalContext().setFloat32Precision(kSettings[i].first, kSettings[i].second, values[i]);
  }
  bool operator==(const Float32Precisions&) const = default;
};

}  // namespace minidynamo
