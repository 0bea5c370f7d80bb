// The settings by which torch's operators choose their kernels, kept in at::Context: which libraries and which
// attention kernels may be used, determinism, reduced precision, preferred linear algebra...
//
// A compiled graph may have been made for them (a decomposition asks which attention kernel will run), so a cached call
// must find all of them as they were. They lie side by side, and are compared as one block: a setting that torch adds
// between them is covered without being named here. The precision of float32 products is float32_precision.h's.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <span>

#include <ATen/Context.h>

namespace minidynamo {

// An explicit instantiation may name private members.
namespace context_fields {
template <class Tag, auto kMember>
struct Expose {
  friend constexpr auto member(Tag) { return kMember; }
};
#define CONTEXT_FIELD(name)             \
  struct name {                         \
    friend constexpr auto member(name); \
  };                                    \
  template struct Expose<name, &at::Context::name>;
CONTEXT_FIELD(enabled_cudnn)
CONTEXT_FIELD(deterministic_cudnn)
CONTEXT_FIELD(deterministic_mkldnn)
CONTEXT_FIELD(_deterministic_algorithms)
CONTEXT_FIELD(_deterministic_algorithms_warn_only)
CONTEXT_FIELD(_deterministic_fill_uninitialized_memory)
CONTEXT_FIELD(sdp_priority_order)
CONTEXT_FIELD(enabled_flashSDP)
CONTEXT_FIELD(enabled_fa3SDP)
CONTEXT_FIELD(enabled_mem_efficientSDP)
CONTEXT_FIELD(enabled_mathSDP)
CONTEXT_FIELD(enabled_cudnnSDP)
CONTEXT_FIELD(enabled_overrideable)
CONTEXT_FIELD(allow_fp16_bf16_reduction_mathSDP)
CONTEXT_FIELD(benchmark_cudnn)
CONTEXT_FIELD(immediate_miopen)
CONTEXT_FIELD(float32_matmul_precision)
CONTEXT_FIELD(benchmark_limit_cudnn)
CONTEXT_FIELD(allow_tf32_cudnn)
CONTEXT_FIELD(allow_fp16_reduction_cublas)
CONTEXT_FIELD(allow_bf16_reduction_cublas)
CONTEXT_FIELD(allow_fp16_accumulation_cublas)
CONTEXT_FIELD(sm_carveout)
CONTEXT_FIELD(enabled_mkldnn)
CONTEXT_FIELD(allow_tf32_onednn)
CONTEXT_FIELD(enabled_nnpack)
CONTEXT_FIELD(depthwise_kernel_cudnn)
CONTEXT_FIELD(linalg_preferred_backend)
CONTEXT_FIELD(blas_preferred_backend)
CONTEXT_FIELD(rocm_fa_preferred_backend)
CONTEXT_FIELD(release_original_weights)
CONTEXT_FIELD(display_vmap_fallback_warnings_)
CONTEXT_FIELD(quantized_engine)
CONTEXT_FIELD(enable_sparse_tensor_invariant_checks)
CONTEXT_FIELD(allow_fp16_reduction_cpu)
#undef CONTEXT_FIELD
}  // namespace context_fields

class KernelSettings {
 public:
  static KernelSettings now() noexcept {
    KernelSettings settings;
    std::memcpy(settings.bytes_.data(), current().data(), current().size());
    return settings;
  }
  bool unchanged() const noexcept { return std::memcmp(bytes_.data(), current().data(), current().size()) == 0; }

  // The name of the first setting that is not what it was; "" where that lies between those with names.
  const char* changed() const noexcept {
    using namespace context_fields;
    struct Row {
      const char* name;
      size_t begin, size;
    };
#define ROW(tag, name) row(name, member(tag()))
    auto row = [](const char* name, auto field) {
      const auto* at = reinterpret_cast<const std::byte*>(&(at::globalContext().*field));
      return Row{name, static_cast<size_t>(at - current().data()), sizeof(at::globalContext().*field)};
    };
    const Row rows[] = {
        ROW(enabled_cudnn, "cudnn"),
        ROW(deterministic_cudnn, "deterministic cudnn"),
        ROW(deterministic_mkldnn, "deterministic mkldnn"),
        ROW(_deterministic_algorithms, "deterministic algorithms"),
        ROW(_deterministic_algorithms_warn_only, "warnings for deterministic algorithms"),
        ROW(_deterministic_fill_uninitialized_memory, "filling of uninitialized memory"),
        ROW(sdp_priority_order, "order of attention kernels"),
        ROW(enabled_flashSDP, "flash attention"),
        ROW(enabled_fa3SDP, "flash attention 3"),
        ROW(enabled_mem_efficientSDP, "memory-efficient attention"),
        ROW(enabled_mathSDP, "math attention"),
        ROW(enabled_cudnnSDP, "cudnn attention"),
        ROW(enabled_overrideable, "overrideable attention"),
        ROW(allow_fp16_bf16_reduction_mathSDP, "reduced-precision reduction of math attention"),
        ROW(benchmark_cudnn, "cudnn benchmark"),
        ROW(immediate_miopen, "miopen immediate mode"),
        ROW(float32_matmul_precision, "float32 matmul precision"),
        ROW(benchmark_limit_cudnn, "cudnn benchmark limit"),
        ROW(allow_tf32_cudnn, "TF32 in cudnn"),
        ROW(allow_fp16_reduction_cublas, "fp16 reduction in cublas"),
        ROW(allow_bf16_reduction_cublas, "bf16 reduction in cublas"),
        ROW(allow_fp16_accumulation_cublas, "fp16 accumulation in cublas"),
        ROW(sm_carveout, "SM carveout"),
        ROW(enabled_mkldnn, "mkldnn"),
        ROW(allow_tf32_onednn, "TF32 in onednn"),
        ROW(enabled_nnpack, "nnpack"),
        ROW(depthwise_kernel_cudnn, "cudnn depthwise kernel"),
        ROW(linalg_preferred_backend, "preferred linear algebra library"),
        ROW(blas_preferred_backend, "preferred BLAS library"),
        ROW(rocm_fa_preferred_backend, "preferred ROCm attention library"),
        ROW(release_original_weights, "release of original weights"),
        ROW(display_vmap_fallback_warnings_, "vmap fallback warnings"),
        ROW(quantized_engine, "quantized engine"),
        ROW(enable_sparse_tensor_invariant_checks, "sparse tensor invariant checks"),
        ROW(allow_fp16_reduction_cpu, "fp16 reduction on the CPU"),
    };
#undef ROW
    for (const Row& field : rows)
      if (std::memcmp(bytes_.data() + field.begin, current().data() + field.begin, field.size) != 0) return field.name;
    return "";
  }

 private:
  static constexpr size_t kRoom = 256;
  std::array<std::byte, kRoom> bytes_;  // as many as current() has

  static std::span<const std::byte> current() noexcept {
    using namespace context_fields;
    const at::Context& context = at::globalContext();
    const auto* first = reinterpret_cast<const std::byte*>(&(context.*member(enabled_cudnn())));
    const auto* last = reinterpret_cast<const std::byte*>(&(context.*member(allow_fp16_reduction_cpu())) + 1);
    return {first, std::min(static_cast<size_t>(last - first), kRoom)};
  }
};

}  // namespace minidynamo
