#include "tensor/symbolic/symbolic_fake.h"

#include "tensor/symbolic/size_node.h"
#include "tensor/symbolic/symbolic_size.h"

namespace minidynamo {
namespace {

thread_local std::shared_ptr<TraceSizes> thread_sizes;
thread_local bool kernels_look = false;

}  // namespace

TraceSizesScope::TraceSizesScope() noexcept : previous_(std::exchange(thread_sizes, nullptr)) {}
void TraceSizesScope::begin(std::shared_ptr<TraceSizes> trace) noexcept { thread_sizes = std::move(trace); }
TraceSizesScope::~TraceSizesScope() { thread_sizes = std::move(previous_); }

HintsForKernels::HintsForKernels() noexcept : before_(std::exchange(kernels_look, true)) {}
HintsForKernels::~HintsForKernels() { kernels_look = before_; }

const std::shared_ptr<TraceSizes>& current_trace_sizes() noexcept { return thread_sizes; }

SymbolicFake* SymbolicFake::of(const at::TensorBase& tensor) noexcept {
  if (!thread_sizes || !tensor.defined()) return nullptr;
  return dynamic_cast<SymbolicFake*>(tensor.unsafeGetTensorImpl());
}

void SymbolicFake::set(const FakeLayout& layout) {
  symbols_ = layout.symbols;
  set_sizes_and_strides(layout.sizes, layout.strides, layout.offset);
  sym_sizes_.clear();
  sym_strides_.clear();
  for (const Expression size : symbols_->sizes) sym_sizes_.push_back(to_symint(trace_, size));
  for (const Expression stride : symbols_->strides) sym_strides_.push_back(to_symint(trace_, stride));
  sym_offset_ = to_symint(trace_, symbols_->offset);
  set_custom_sizes_strides(SizesStridesPolicy::CustomSizes);
}

FakeLayout SymbolicFake::layout() const {
  const c10::IntArrayRef sizes = sizes_and_strides_.sizes_arrayref(), strides = sizes_and_strides_.strides_arrayref();
  FakeLayout layout;
  layout.sizes.assign(sizes.begin(), sizes.end());
  layout.strides.assign(strides.begin(), strides.end());
  layout.offset = storage_offset_;
  layout.dtype = dtype();
  layout.conjugate = is_conj();
  layout.negative = is_neg();
  layout.symbols = symbols_;
  return layout;
}

// Somebody looks at the numbers: the trace is good for these alone.
void SymbolicFake::specialize_if_observed(c10::ArrayRef<Expression> expressions) const {
  if (kernels_look) return;
  for (const Expression e : expressions) trace_->specialize(e);
}

c10::IntArrayRef SymbolicFake::sizes_custom() const {
  specialize_if_observed(symbols_->sizes);
  return sizes_and_strides_.sizes_arrayref();
}
c10::IntArrayRef SymbolicFake::strides_custom() const {
  specialize_if_observed(symbols_->strides);
  return sizes_and_strides_.strides_arrayref();
}
int64_t SymbolicFake::numel_custom() const {
  specialize_if_observed(symbols_->sizes);
  return c10::multiply_integers(sizes_and_strides_.sizes_arrayref());
}
int64_t SymbolicFake::storage_offset_custom() const {
  specialize_if_observed(symbols_->offset);
  return storage_offset_;
}
c10::SymInt SymbolicFake::sym_numel_custom() const {
  Expression product = constant(1);
  for (const Expression size : symbols_->sizes) product = product * size;
  return to_symint(trace_, product);
}

c10::SymBool SymbolicFake::sym_is_contiguous_custom(at::MemoryFormat format) const {
  TraceSizes& trace = *trace_;
  if (kernels_look) return known(is_contiguous_default(format));
  switch (format) {
    case at::MemoryFormat::ChannelsLast:
      return known(is_contiguous_in_order(trace, *symbols_, {1, 3, 2, 0}));
    case at::MemoryFormat::ChannelsLast3d:
      return known(is_contiguous_in_order(trace, *symbols_, {1, 4, 3, 2, 0}));
    default:
      return known(minidynamo::is_contiguous(trace, *symbols_));
  }
}

c10::SymBool SymbolicFake::sym_is_non_overlapping_and_dense_custom() const {
  if (kernels_look) return known(is_non_overlapping_and_dense_default());
  return known(is_dense(*trace_, *symbols_));
}

bool SymbolicFake::is_strides_like_custom(at::MemoryFormat format) const {
  if (kernels_look) return is_strides_like_default(format);
  TraceSizes& trace = *trace_;
  if (format == at::MemoryFormat::ChannelsLast) return has_stride_order(trace, *symbols_, {1, 3, 2, 0});
  if (format == at::MemoryFormat::ChannelsLast3d) return has_stride_order(trace, *symbols_, {1, 4, 3, 2, 0});
  return false;
}

c10::intrusive_ptr<c10::TensorImpl> SymbolicFake::shallow_copy_and_detach(const c10::VariableVersion& version,
                                                                          bool allow_change) const {
  auto copy = c10::make_intrusive<SymbolicFake>(c10::Storage(storage_), key_set_, data_type_);
  copy->trace_ = trace_;
  copy_tensor_metadata(this, copy.get(), version, allow_change);
  FakeLayout own = layout();
  copy->set_allow_tensor_metadata_change(true);
  copy->set(own);
  copy->set_allow_tensor_metadata_change(allow_change);
  return copy;
}
c10::intrusive_ptr<c10::TensorImpl> SymbolicFake::shallow_copy_and_detach(c10::VariableVersion&& version,
                                                                          bool allow_change) const {
  return shallow_copy_and_detach(static_cast<const c10::VariableVersion&>(version), allow_change);
}

}  // namespace minidynamo
