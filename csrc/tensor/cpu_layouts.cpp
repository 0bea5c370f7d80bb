// The CPU kernels whose results differ from their meta kernels', found by running both over torch's operator table
// (tests/python/opinfo_oracle.py).
#include "tensor/cpu_layouts.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace minidynamo {
namespace {

using Arguments = c10::ArrayRef<c10::IValue>;
using Tensors = c10::ArrayRef<const at::Tensor*>;
using Dimensions = std::vector<int64_t>;

bool is_bool(const at::Tensor& tensor) { return tensor.scalar_type() == c10::kBool; }

// Strides that are dense when the dimensions are walked in `order`, outermost first.
void set_dense(TensorResult& result, const Dimensions& order) {
  FakeLayout& layout = result.layout;
  int64_t stride = 1;
  for (auto dimension = order.rbegin(); dimension != order.rend(); ++dimension) {
    layout.strides[*dimension] = stride;
    stride *= std::max<int64_t>(layout.sizes[*dimension], 1);
  }
  result.bytes = storage_bytes(layout);
}

Dimensions all_dimensions(size_t count) {
  Dimensions dimensions(count);
  std::iota(dimensions.begin(), dimensions.end(), 0);
  return dimensions;
}

// LAPACK's matrices are column-major.
void column_major(TensorResult& result) {
  Dimensions order = all_dimensions(result.layout.sizes.size());
  if (order.size() < 2) return;
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  set_dense(result, order);
}

void eigenvectors(Arguments, Tensors, MetadataResult& result) { column_major(result.tensors[1]); }

void right_singular_vectors(Arguments arguments, Tensors, MetadataResult& result) {
  // (A, full_matrices, compute_uv, driver)
  if (arguments[2].toBool()) column_major(result.tensors[2]);
}

// bool ** bool is bool.
void power(Arguments arguments, Tensors tensors, MetadataResult& result) {
  const bool bools = is_bool(*tensors[0]) && (tensors.size() > 1 ? is_bool(*tensors[1]) : arguments[1].isBool());
  if (!bools) return;
  result.tensors[0].layout.dtype = c10::scalarTypeToTypeMeta(c10::kBool);
  result.tensors[0].bytes = storage_bytes(result.tensors[0].layout);
}

// The result has the memory format that the input suggests.
void max_unpool2d(Arguments, Tensors tensors, MetadataResult& result) {
  if (tensors[0]->dim() != 4 || tensors[0]->suggest_memory_format() != c10::MemoryFormat::ChannelsLast) return;
  set_dense(result.tensors[0], {0, 2, 3, 1});
}

// Outside of training no statistics are saved.
void batch_norm_inference(Arguments, Tensors, MetadataResult& result) {
  for (size_t i : {1, 2}) {
    TensorResult& statistics = result.tensors[i];
    statistics.layout.sizes.assign({0});
    statistics.layout.strides.assign({1});
    statistics.bytes = 0;
  }
}

void batch_norm(Arguments arguments, Tensors tensors, MetadataResult& result) {
  if (!arguments[5].toBool()) batch_norm_inference(arguments, tensors, result);
}

void contiguous(Arguments, Tensors, MetadataResult& result) {
  set_dense(result.tensors[0], all_dimensions(result.tensors[0].layout.sizes.size()));
}

void by_stride(Dimensions& dimensions, size_t count, c10::IntArrayRef strides) {
  std::sort(dimensions.begin(), dimensions.begin() + static_cast<int64_t>(count),
            [&](int64_t a, int64_t b) { return strides[a] > strides[b]; });
}

// MKL transforms the last dimensions of a permuted input: the others first, by stride, then the transformed ones.
Dimensions transform_order(const Dimensions& transformed, c10::IntArrayRef strides) {
  Dimensions order;
  for (int64_t i = 0; i < static_cast<int64_t>(strides.size()); ++i) {
    if (std::ranges::find(transformed, i) == transformed.end()) order.push_back(i);
  }
  by_stride(order, order.size(), strides);
  order.insert(order.end(), transformed.begin(), transformed.end());
  return order;
}

Dimensions wrapped_dimensions(const c10::IValue& value, int64_t count) {
  Dimensions dimensions;
  for (const c10::IValue& dimension : value.toListRef()) {
    dimensions.push_back(dimension.toInt() < 0 ? dimension.toInt() + count : dimension.toInt());
  }
  return dimensions;
}

void real_to_complex_transform(Arguments arguments, Tensors tensors, MetadataResult& result) {
  const at::Tensor& input = *tensors[0];
  Dimensions transformed = wrapped_dimensions(arguments[1], input.dim());
  if (transformed.empty()) return;
  by_stride(transformed, transformed.size() - 1, input.strides());
  set_dense(result.tensors[0], transform_order(transformed, input.strides()));
}

// All but the last dimension by a complex transform, whose result the last one then reads.
void complex_to_real_transform(Arguments arguments, Tensors tensors, MetadataResult& result) {
  const at::Tensor& input = *tensors[0];
  Dimensions transformed = wrapped_dimensions(arguments[1], input.dim());
  if (transformed.empty()) return;
  const int64_t last = transformed.back();
  transformed.pop_back();
  TensorResult intermediate;
  intermediate.layout = FakeLayout::of(input);
  if (!transformed.empty()) {
    by_stride(transformed, transformed.size(), input.strides());
    set_dense(intermediate, transform_order(transformed, input.strides()));
  }
  set_dense(result.tensors[0], transform_order({last}, intermediate.layout.strides));
}

struct Correction {
  std::string_view name;
  void (*apply)(Arguments, Tensors, MetadataResult&);
  bool needs_mkl = false;
};

// Sorted by name.
constexpr std::array kCorrections{
    Correction{"aten::_fft_c2r", &complex_to_real_transform, true},
    Correction{"aten::_fft_r2c", &real_to_complex_transform, true},
    Correction{"aten::_linalg_svd", &right_singular_vectors},
    Correction{"aten::_native_batch_norm_legit", &batch_norm},
    Correction{"aten::_native_batch_norm_legit_no_training", &batch_norm_inference},
    Correction{"aten::linalg_eig", &eigenvectors},
    Correction{"aten::max_unpool2d", &max_unpool2d},
    Correction{"aten::native_batch_norm", &batch_norm},
    Correction{"aten::nonzero_static", &contiguous},
    Correction{"aten::pow.Tensor_Scalar", &power},
    Correction{"aten::pow.Tensor_Tensor", &power},
};
static_assert(std::ranges::is_sorted(kCorrections, {}, &Correction::name));

}  // namespace

void correct_layouts(const OperatorInfo& info, c10::ArrayRef<c10::IValue> arguments,
                     c10::ArrayRef<const at::Tensor*> tensors, MetadataResult& result) {
  const auto row = std::ranges::lower_bound(kCorrections, std::string_view(info.name), {}, &Correction::name);
  if (row == kCorrections.end() || row->name != info.name) return;
  if (row->needs_mkl && !at::hasMKL()) return;
  for (const TensorResult& output : result.tensors) {
    if (output.kind == TensorResult::Kind::Fresh && !output.device.is_cpu()) return;
  }
  row->apply(arguments, tensors, result);
}

}  // namespace minidynamo
