// The precision settings of float32 matrix products and convolutions: one value per (backend, kind of operator), and
// the older global switch, which is kept beside them.
#pragma once
#include <array>
#include <optional>
#include <unordered_map>
#include <utility>

#include <ATen/Context.h>

namespace minidynamo {

// Torch looks up each setting in hash tables when it is asked, which is too slow for every call of a captured function.
// So the fields are read where they lie; an explicit instantiation may name private members.
namespace float32_fields {
using Key = std::pair<at::Float32Backend, at::Float32Op>;
struct Table {
  using Member = std::unordered_map<Key, at::Float32Precision, c10::hash<Key>> at::Context::*;
  friend Member member(Table);
};
struct Global {
  using Member = at::Float32MatmulPrecision at::Context::*;
  friend Member member(Global);
};
template <class Field, typename Field::Member kMember>
struct Expose {
  friend typename Field::Member member(Field) { return kMember; }
};
template struct Expose<Table, &at::Context::fp32_precision>;
template struct Expose<Global, &at::Context::float32_matmul_precision>;
}  // namespace float32_fields

class Float32Precisions {
 public:
  static Float32Precisions now() {
    Float32Precisions result;
    for (size_t i = 0; i < kSettings.size(); ++i) {
      result.values_[i] = at::globalContext().float32Precision(kSettings[i].backend, kSettings[i].kind);
    }
    result.global_ = global();
    result.fields_ = fields();
    return result;
  }

  // True if no setting has another value than it had. The quick answer: if not, they may still be `equivalent`.
  bool unchanged() const noexcept {
    const Places& now = places();
    bool same = static_cast<int>(*now.global) == fields_.back();
    for (size_t i = 0; i < kSettings.size(); ++i) same &= static_cast<int>(*now.settings[i]) == fields_[i];
    return same;
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

  // True if matrix products and convolutions compute alike: "not set" and "IEEE" are one for products.
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

  using Fields = std::array<int, kSettings.size() + 1>;

  // Where torch keeps the values. Its table keeps its keys.
  struct Places {
    std::array<const at::Float32Precision*, kSettings.size()> settings;
    const at::Float32MatmulPrecision* global;
  };
  static const Places& places() noexcept {
    static const Places found = [] {
      at::Context& context = at::globalContext();
      Places made{{}, &(context.*member(float32_fields::Global()))};
      for (size_t i = 0; i < kSettings.size(); ++i)
        made.settings[i] = &(context.*member(float32_fields::Table())).at({kSettings[i].backend, kSettings[i].kind});
      return made;
    }();
    return found;
  }

  static Fields fields() noexcept {
    Fields now;
    for (size_t i = 0; i < kSettings.size(); ++i) now[i] = static_cast<int>(*places().settings[i]);
    now.back() = static_cast<int>(*places().global);
    return now;
  }

  Fields fields_{};
  std::array<at::Float32Precision, kSettings.size()> values_{};
  std::optional<at::Float32MatmulPrecision> global_;
};

}  // namespace minidynamo
