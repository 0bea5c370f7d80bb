// The precision settings of float32 matrix products and convolutions: one value per (backend, kind of operator), and
// the older global switch, which is kept beside them.
#pragma once
#include <array>
#include <optional>

#include <ATen/Context.h>

namespace minidynamo {

class Float32Precisions {
 public:
  static Float32Precisions now() {
    Float32Precisions result;
    for (size_t i = 0; i < kSettings.size(); ++i) {
      result.values_[i] = at::globalContext().float32Precision(kSettings[i].backend, kSettings[i].kind);
    }
    result.global_ = global();
    return result;
  }

  void restore() const {
    if (global_ && global() != global_) {
      constexpr std::array kNames{"highest", "high", "medium"};
      at::globalContext().setFloat32MatmulPrecision(kNames[static_cast<size_t>(*global_)]);
    }
    for (size_t i = 0; i < kSettings.size(); ++i) {
      at::globalContext().setFloat32Precision(kSettings[i].backend, kSettings[i].kind, values_[i]);
    }
  }

  bool identical(const Float32Precisions& other) const { return values_ == other.values_ && global_ == other.global_; }

  // Whether matrix products and convolutions compute alike: "not set" and "IEEE" are one for products.
  bool equivalent(const Float32Precisions& other) const {
    if (identical(other)) return true;
    if (global_ != other.global_) return false;
    for (size_t i = 0; i < values_.size(); ++i) {
      const bool product = kSettings[i].kind == at::Float32Op::MATMUL;
      const auto a = product ? plain(values_[i]) : values_[i];
      const auto b = product ? plain(other.values_[i]) : other.values_[i];
      if (a != b) return false;
    }
    return true;
  }

 private:
  struct Setting {
    at::Float32Backend backend;
    at::Float32Op kind;
  };
  // The pairs that torch knows.
  static constexpr std::array kSettings{Setting{at::Float32Backend::GENERIC, at::Float32Op::ALL},
                                        Setting{at::Float32Backend::CUDA, at::Float32Op::ALL},
                                        Setting{at::Float32Backend::CUDA, at::Float32Op::CONV},
                                        Setting{at::Float32Backend::CUDA, at::Float32Op::RNN},
                                        Setting{at::Float32Backend::CUDA, at::Float32Op::MATMUL},
                                        Setting{at::Float32Backend::MKLDNN, at::Float32Op::ALL},
                                        Setting{at::Float32Backend::MKLDNN, at::Float32Op::CONV},
                                        Setting{at::Float32Backend::MKLDNN, at::Float32Op::RNN},
                                        Setting{at::Float32Backend::MKLDNN, at::Float32Op::MATMUL}};

  static at::Float32Precision plain(at::Float32Precision value) {
    const bool unset = value == at::Float32Precision::NONE || value == at::Float32Precision::DEFAULT;
    return unset ? at::Float32Precision::IEEE : value;
  }

  // Torch refuses to say when the program mixes the two interfaces.
  static std::optional<at::Float32MatmulPrecision> global() {
    try {
      return at::globalContext().float32MatmulPrecision();
    } catch (const c10::Error&) {
      return std::nullopt;
    }
  }

  std::array<at::Float32Precision, kSettings.size()> values_{};
  std::optional<at::Float32MatmulPrecision> global_;
};

}  // namespace minidynamo
