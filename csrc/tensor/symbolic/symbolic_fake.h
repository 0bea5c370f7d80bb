// A fake with two faces: symbolic_size.h says what for.
#pragma once
#include "tensor/fake/fake_layout.h"
#include "tensor/symbolic/dense_order.h"

namespace minidynamo {

// The thread's trace, if it has symbols.
const std::shared_ptr<TraceSizes>& current_trace_sizes() noexcept;

class SymbolicFake final : public c10::TensorImpl {
 public:
  SymbolicFake(c10::Storage storage, c10::DispatchKeySet keys, caffe2::TypeMeta dtype)
      : TensorImpl(std::move(storage), keys, dtype), trace_(current_trace_sizes()) {}
  SymbolicFake(ImplType view, c10::Storage storage, c10::DispatchKeySet keys, caffe2::TypeMeta dtype)
      : TensorImpl(view, std::move(storage), keys, dtype), trace_(current_trace_sizes()) {}

  // Null for any other tensor. Cheap where the thread's trace has no symbols.
  static SymbolicFake* of(const at::TensorBase& tensor) noexcept;

  void set(const FakeLayout& layout);  // with symbols
  const std::shared_ptr<const SymbolicLayout>& symbols() const noexcept { return symbols_; }
  FakeLayout layout() const;

 protected:
  c10::IntArrayRef sizes_custom() const override;
  c10::IntArrayRef strides_custom() const override;
  int64_t numel_custom() const override;
  int64_t dim_custom() const override { return static_cast<int64_t>(symbols_->sizes.size()); }
  int64_t storage_offset_custom() const override;
  c10::SymIntArrayRef sym_sizes_custom() const override { return sym_sizes_; }
  c10::SymIntArrayRef sym_strides_custom() const override { return sym_strides_; }
  c10::SymInt sym_numel_custom() const override;
  c10::SymInt sym_storage_offset_custom() const override { return sym_offset_; }
  c10::SymBool sym_is_contiguous_custom(at::MemoryFormat format) const override;
  c10::SymBool sym_is_non_overlapping_and_dense_custom() const override;
  bool is_strides_like_custom(at::MemoryFormat format) const override;
  c10::intrusive_ptr<TensorImpl> shallow_copy_and_detach(const c10::VariableVersion& version,
                                                         bool allow_change) const override;
  c10::intrusive_ptr<TensorImpl> shallow_copy_and_detach(c10::VariableVersion&& version,
                                                         bool allow_change) const override;
  const char* tensorimpl_type_name() const override { return "SymbolicFake"; }

 private:
  std::shared_ptr<TraceSizes> trace_;
  std::shared_ptr<const SymbolicLayout> symbols_;
  c10::SmallVector<c10::SymInt, 5> sym_sizes_, sym_strides_;
  c10::SymInt sym_offset_;

  void specialize_if_observed(c10::ArrayRef<Expression> expressions) const;
  c10::SymBool known(bool value) const { return c10::SymBool(value); }
};

// While one lives on a thread, kernels may look at hints.
class HintsForKernels {
 public:
  HintsForKernels() noexcept;
  ~HintsForKernels();
  HintsForKernels(const HintsForKernels&) = delete;
  HintsForKernels& operator=(const HintsForKernels&) = delete;

 private:
  bool before_;
};

}  // namespace minidynamo
