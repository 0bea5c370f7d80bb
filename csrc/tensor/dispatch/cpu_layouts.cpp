// Rules for CPU kernels whose results differ from their meta kernels', found by running both over torch's operator
// table (tests/python/oracles/opinfo_oracle.py, tests/python/oracles/opinfo_layouts.py).
#include "tensor/dispatch/cpu_layouts.h"

#include <ATen/EmptyTensor.h>
#include <ATen/ExpandUtils.h>
#include <ATen/native/TypeProperties.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "tensor/dispatch/convolution_layout.h"
#include "tensor/fake/cannot_fake.h"
#include "tensor/symbolic/sorted_rows.h"

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

// In a format with channels last also for a sequence (N, C, L), which a convolution takes for an image.
void set_format(TensorResult& result, c10::MemoryFormat format) {
  Dimensions order = all_dimensions(result.layout.sizes.size());
  if (format == c10::MemoryFormat::ChannelsLast || format == c10::MemoryFormat::ChannelsLast3d)
    std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  set_dense(result, order);
}

// A gradient that the caller does not want is no result.
void set_format_if_new(TensorResult& result, c10::MemoryFormat format) {
  if (result.kind == TensorResult::Kind::Fresh) set_format(result, format);
}

// The memory format that a tensor of which only `size` elements along the dimension are taken suggests.
c10::MemoryFormat format_of_part(const FakeLayout& layout, int64_t dimension, int64_t size) {
  Dimensions sizes(layout.sizes.begin(), layout.sizes.end());
  sizes[dimension] = size;
  const c10::IntArrayRef strides(layout.strides.data(), layout.strides.size());
  if (c10::is_channels_last_strides_2d(c10::IntArrayRef(sizes), strides)) return c10::MemoryFormat::ChannelsLast;
  if (c10::is_channels_last_strides_3d(c10::IntArrayRef(sizes), strides)) return c10::MemoryFormat::ChannelsLast3d;
  return c10::MemoryFormat::Contiguous;
}

void contiguous(Arguments, Tensors, MetadataResult& result) {
  set_dense(result.tensors[0], all_dimensions(result.tensors[0].layout.sizes.size()));
}

// Dense, in the order in which the first argument lies in memory.
void like_first(Arguments, Tensors tensors, MetadataResult& result) {
  const at::Tensor& like = *tensors[0];
  FakeLayout& layout = result.tensors[0].layout;
  if (like.unsafeGetTensorImpl()->is_non_overlapping_and_dense()) {
    layout.strides.assign(like.strides().begin(), like.strides().end());
  } else {
    const std::vector<int64_t> strides = at::infer_dense_strides(like.sizes(), like.strides());
    layout.strides.assign(strides.begin(), strides.end());
  }
  result.tensors[0].bytes = storage_bytes(layout);
}

// A new tensor like the first argument. The memory format is the last argument.
void new_like(Arguments arguments, Tensors tensors, MetadataResult& result) {
  const c10::IValue& format = arguments.back();
  const c10::MemoryFormat wanted = format.isNone() ? c10::MemoryFormat::Preserve : format.toMemoryFormat();
  if (wanted == c10::MemoryFormat::Preserve) return like_first(arguments, tensors, result);
  set_format(result.tensors[0], wanted);
}

// Kernels of normalizations take parameters of the wrong size (and read past their ends), which meta kernels broadcast.
void has_size_of(const at::Tensor& input, const MetadataResult& result) {
  const auto& sizes = result.tensors[0].layout.sizes;
  if (result.tensors[0].kind == TensorResult::Kind::Fresh && input.sizes() != c10::IntArrayRef(sizes))
    throw CannotFake{FakeProblem::NoImplementation, "the parameters of a normalization do not fit its input"};
}

// The mean and the inverse deviation of a normalization, results 1 and 2, have the input's dtype unless weight and bias
// have another.
void statistics_like_input(TensorResult& result, Arguments parameters, const at::Tensor& input) {
  for (const c10::IValue& parameter : parameters)
    if (parameter.isTensor() && parameter.toTensor().defined() &&
        parameter.toTensor().scalar_type() != input.scalar_type())
      return;
  result.layout.dtype = input.dtype();
  result.bytes = storage_bytes(result.layout);
}

// (input, normalized_shape, weight, bias, ...)
void layer_norm(Arguments arguments, Tensors tensors, MetadataResult& result) {
  has_size_of(*tensors[0], result);
  contiguous(arguments, tensors, result);
  for (size_t i : {1, 2}) statistics_like_input(result.tensors[i], arguments.slice(2, 2), *tensors[0]);
}

// Without rows in the matrix the kernel returns the vector as it is, whatever the matrix's sizes are.
void matrix_vector_sum(Arguments arguments, Tensors tensors, MetadataResult& result) {
  if (tensors[1]->size(0) != 0) return;
  FakeLayout& layout = result.tensors[0].layout;
  layout.sizes.assign(tensors[0]->sizes().begin(), tensors[0]->sizes().end());
  layout.strides.resize(layout.sizes.size());
  contiguous(arguments, tensors, result);
}

void suggested_format(Arguments, Tensors tensors, MetadataResult& result) {
  set_format(result.tensors[0], tensors[0]->suggest_memory_format());
}

// (input, weight, bias, ...)
void group_norm(Arguments arguments, Tensors tensors, MetadataResult& result) {
  has_size_of(*tensors[0], result);
  suggested_format(arguments, tensors, result);
  for (size_t i : {1, 2}) statistics_like_input(result.tensors[i], arguments.slice(1, 2), *tensors[0]);
}

// Images with one channel may be contiguous and have the channels last, and are taken for contiguous ones.
void batch_norm_format(const at::Tensor& input, MetadataResult& result) {
  set_format(result.tensors[0], input.is_contiguous() ? c10::MemoryFormat::Contiguous : input.suggest_memory_format());
}

// Outside of training no statistics are saved.
void batch_norm_inference(Arguments arguments, Tensors tensors, MetadataResult& result) {
  has_size_of(*tensors[0], result);
  batch_norm_format(*tensors[0], result);
  for (size_t i : {1, 2}) {
    TensorResult& statistics = result.tensors[i];
    statistics.layout.sizes.assign({0});
    statistics.layout.strides.assign({1});
    statistics_like_input(statistics, arguments.slice(1, 4), *tensors[0]);
  }
}

// (input, weight, bias, running_mean, running_var, momentum, eps)
void batch_norm_with_update(Arguments arguments, Tensors tensors, MetadataResult& result) {
  has_size_of(*tensors[0], result);
  batch_norm_format(*tensors[0], result);
  for (size_t i : {1, 2}) statistics_like_input(result.tensors[i], arguments.slice(1, 4), *tensors[0]);
}

// (input, weight, bias, running_mean, running_var, training, momentum, eps)
void batch_norm(Arguments arguments, Tensors tensors, MetadataResult& result) {
  const bool is_training = arguments[5].toBool();
  (is_training ? batch_norm_with_update : batch_norm_inference)(arguments, tensors, result);
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

// Sets the layout of a transform that takes the dimensions by stride, but for as many of the last ones as are `kKept`.
template <size_t kKept>
void transform(Arguments arguments, Tensors tensors, MetadataResult& result) {
  const at::Tensor& input = *tensors[0];
  Dimensions transformed = wrapped_dimensions(arguments[1], input.dim());
  if (transformed.empty()) return;
  by_stride(transformed, transformed.size() - kKept, input.strides());
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

// (grad_output, input, weight, running_mean, running_var, save_mean, save_invstd, train, eps, output_mask)
void batch_norm_backward(Arguments, Tensors tensors, MetadataResult& result) {
  has_size_of(*tensors[0], result);
  set_format_if_new(result.tensors[0], tensors[1]->suggest_memory_format());
}

// (grad_out, input, mean, rstd, weight, N, C, HxW, group, output_mask)
void group_norm_backward(Arguments, Tensors tensors, MetadataResult& result) {
  set_format_if_new(result.tensors[0], tensors[1]->suggest_memory_format());
}

// One dimension after the other; each result is put together of two parts of the one before.
void roll(Arguments arguments, Tensors tensors, MetadataResult& result) {
  // (input, shifts, dims)
  const c10::ArrayRef<c10::IValue> shifts = arguments[1].toListRef();
  const Dimensions dimensions = wrapped_dimensions(arguments[2], tensors[0]->dim());
  FakeLayout& layout = result.tensors[0].layout;
  if (dimensions.empty()) return contiguous(arguments, tensors, result);
  layout.strides.assign(tensors[0]->strides().begin(), tensors[0]->strides().end());
  for (size_t i = 0; i < dimensions.size(); ++i) {
    const int64_t size = layout.sizes[dimensions[i]];
    const int64_t start = (size - shifts[i].toInt() % size) % size;
    const c10::MemoryFormat one = format_of_part(layout, dimensions[i], size - start);
    const c10::MemoryFormat other = format_of_part(layout, dimensions[i], start);
    set_format(result.tensors[0], one == other ? one : c10::MemoryFormat::Contiguous);
  }
}

// (input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)
void convolution(Arguments arguments, Tensors tensors, MetadataResult& result) {
  set_format(result.tensors[0], convolution_format(*tensors[0], *tensors[1], arguments.slice(3)));
}

// (grad_output, input, weight, bias_sizes, stride, ..., groups, output_mask)
void convolution_backward(Arguments arguments, Tensors tensors, MetadataResult& result) {
  const c10::MemoryFormat format = convolution_format(*tensors[1], *tensors[2], arguments.slice(4));
  for (size_t i : {0, 1}) set_format_if_new(result.tensors[i], format);
}

bool has_mkl(Arguments, Tensors) { return at::hasMKL(); }

bool have_elements(Arguments, Tensors tensors) {
  return std::ranges::all_of(tensors,
                             [](const at::Tensor* tensor) { return !tensor->defined() || tensor->numel() > 0; });
}

// Groups that no compiled backend takes at once are computed one by one, and their weights' gradients put together.
bool are_groups_computed_at_once(Arguments arguments, Tensors tensors) {
  const int64_t groups = arguments[9].toInt();
  return have_elements(arguments, tensors) && (groups == 1 || tensors[1]->scalar_type() != c10::kDouble);
}

// The stride of a dimension of size 1 differs from kernel to kernel.
bool are_sizes_above_one(Arguments, Tensors tensors) {
  return std::ranges::all_of(tensors[0]->sizes(), [](int64_t size) { return size > 1; });
}

void as_meta_kernel(Arguments, Tensors, MetadataResult&) {}

struct Correction {
  std::string_view name;
  void (*apply)(Arguments, Tensors, MetadataResult&);
  bool (*holds)(Arguments, Tensors) = nullptr;  // for which arguments; null: for all
};

// Sorted by name.
constexpr std::array kCorrections{
    Correction{"aten::_batch_norm_with_update", &batch_norm_with_update},
    Correction{"aten::_fft_c2c", &transform<0>, &has_mkl},
    Correction{"aten::_fft_c2r", &complex_to_real_transform, &has_mkl},
    Correction{"aten::_fft_r2c", &transform<1>, &has_mkl},
    Correction{"aten::_linalg_svd", &right_singular_vectors},
    Correction{"aten::_native_batch_norm_legit", &batch_norm},
    Correction{"aten::_native_batch_norm_legit_no_training", &batch_norm_inference},
    Correction{"aten::_standard_gamma", &contiguous},
    Correction{"aten::addmv", &matrix_vector_sum},
    Correction{"aten::bernoulli", &contiguous},
    Correction{"aten::bernoulli.Tensor", &like_first},
    Correction{"aten::bernoulli.p", &contiguous},
    Correction{"aten::cauchy", &like_first},
    Correction{"aten::col2im", &as_meta_kernel, &have_elements},
    Correction{"aten::convolution", &convolution, &have_elements},
    Correction{"aten::convolution_backward", &convolution_backward, &are_groups_computed_at_once},
    Correction{"aten::diag_embed", &as_meta_kernel, &are_sizes_above_one},
    Correction{"aten::empty_like", &new_like},
    Correction{"aten::exponential", &like_first},
    Correction{"aten::full_like", &new_like},
    Correction{"aten::geometric", &like_first},
    Correction{"aten::linalg_eig", &eigenvectors},
    Correction{"aten::log_normal", &like_first},
    Correction{"aten::masked_fill.Scalar", &contiguous},
    Correction{"aten::masked_fill.Tensor", &contiguous},
    Correction{"aten::max_unpool2d", &max_unpool2d},
    Correction{"aten::multinomial", &contiguous},
    Correction{"aten::native_batch_norm", &batch_norm},
    Correction{"aten::native_batch_norm_backward", &batch_norm_backward},
    Correction{"aten::native_group_norm", &group_norm},
    Correction{"aten::native_group_norm_backward", &group_norm_backward},
    Correction{"aten::native_layer_norm", &layer_norm},
    Correction{"aten::nonzero_static", &contiguous},
    Correction{"aten::normal.Tensor_Tensor", &contiguous},
    Correction{"aten::normal.Tensor_float", &contiguous},
    Correction{"aten::normal.float_Tensor", &contiguous},
    Correction{"aten::normal_functional", &like_first},
    Correction{"aten::ones_like", &new_like},
    Correction{"aten::poisson", &contiguous},
    Correction{"aten::pow.Tensor_Scalar", &power},
    Correction{"aten::pow.Tensor_Tensor", &power},
    Correction{"aten::rand_like", &new_like},
    Correction{"aten::randint_like", &new_like},
    Correction{"aten::randint_like.Tensor", &new_like},
    Correction{"aten::randint_like.low_dtype", &new_like},
    Correction{"aten::randn_like", &new_like},
    Correction{"aten::random", &like_first},
    Correction{"aten::random.from", &like_first},
    Correction{"aten::random.to", &like_first},
    Correction{"aten::replication_pad2d", &suggested_format},
    Correction{"aten::replication_pad3d", &suggested_format},
    Correction{"aten::roll", &roll, &have_elements},
    Correction{"aten::rrelu_with_noise", &contiguous},
    Correction{"aten::rrelu_with_noise_functional", &like_first},
    Correction{"aten::uniform", &like_first},
    Correction{"aten::zeros_like", &new_like},
};
static_assert(std::ranges::is_sorted(kCorrections, {}, &Correction::name));

// Operators whose meta kernels give the layouts of the real ones. Sorted by name.
constexpr std::string_view kVerified[] = {
#define VERIFIED_LAYOUT(name) name,
#include "tensor/dispatch/verified_layouts.def"
#undef VERIFIED_LAYOUT
};
static_assert(std::ranges::is_sorted(kVerified));

// Operators of which the meta kernel is wrong whatever the layout. Sorted by name.
constexpr std::string_view kWrong[] = {"aten::_embedding_bag"};

// Operators of which the meta kernel may give another dtype where the arguments have several. Sorted by name.
constexpr std::string_view kWrongForSeveralDtypes[] = {
    "aten::addr",
    "aten::huber_loss",
    "aten::mse_loss_backward",
    "aten::native_dropout_backward",
    "aten::smooth_l1_loss_backward",
    "aten::soft_margin_loss",
    "aten::soft_margin_loss_backward",
};
static_assert(std::ranges::is_sorted(kWrongForSeveralDtypes));

// Structured operators whose kernels lay their results out anew. Sorted by name.
constexpr std::string_view kLaidOutByKernel[] = {"aten::reflection_pad3d", "aten::reflection_pad3d_backward",
                                                 "aten::sort", "aten::sort.stable"};

// Contiguous, with the strides that a new tensor has also where a size is 1, and with elements.
bool is_laid_out_as_usual(const at::Tensor& tensor) {
  if (!tensor.defined()) return true;
  const c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
  int64_t stride = 1;
  for (int64_t d = impl->dim(); d-- > 0;) {
    if (impl->size(d) == 0 || impl->strides()[d] != stride) return false;
    stride *= impl->size(d);
  }
  return true;
}

bool have_one_dtype(Tensors tensors) {
  const auto is_other = [&](const at::Tensor* tensor) {
    return tensor->defined() && tensor->scalar_type() != tensors[0]->scalar_type();
  };
  return std::ranges::none_of(tensors, is_other);
}

// The dtype that a pointwise operator computes in.
c10::ScalarType common_dtype(Tensors operands, const TensorResult& result) {
  at::native::ResultTypeState state = {};
  for (const at::Tensor* operand : operands)
    if (operand->defined()) state = at::native::update_result_type_state(*operand, state);
  const c10::ScalarType common = at::native::result_type(state), given = c10::typeMetaToScalarType(result.layout.dtype);
  const bool is_promoted = c10::isIntegralType(common, /*includeBool=*/true) && c10::isFloatingType(given);
  return is_promoted ? given : common;
}

bool is_dense(const at::Tensor& tensor) { return tensor.dim() < 2 || tensor.is_non_overlapping_and_dense(); }

}  // namespace

std::vector<at::Tensor> converted_operands(const OperatorInfo& info, Tensors operands, const MetadataResult& result) {
  if (!info.converts_operands || result.tensors.size() != 1 || !result.tensors[0].device.is_cpu()) return {};
  const auto has_gaps = [](const at::Tensor* operand) { return operand->defined() && !is_dense(*operand); };
  if (std::ranges::none_of(operands, has_gaps)) return {};
  const c10::ScalarType dtype = common_dtype(operands, result.tensors[0]);
  std::vector<at::Tensor> converted;
  bool is_any = false;
  for (const at::Tensor* operand : operands) {
    converted.push_back(*operand);
    if (!has_gaps(operand) || operand->scalar_type() == dtype) continue;
    const c10::IntArrayRef sizes = operand->sizes();
    converted.back() = at::detail::empty_strided_meta(sizes, at::infer_dense_strides(sizes, operand->strides()),
                                                      operand->scalar_type());
    is_any = true;
  }
  return is_any ? std::move(converted) : std::vector<at::Tensor>();
}

void correct_layouts(const OperatorInfo& info, c10::ArrayRef<c10::IValue> arguments,
                     c10::ArrayRef<const at::Tensor*> tensors, MetadataResult& result) {
  const Correction* row = find_row(kCorrections, info.name);
  if (!row || (row->holds && !row->holds(arguments, tensors))) return;
  for (const TensorResult& output : result.tensors) {
    if (output.kind == TensorResult::Kind::Fresh && !output.device.is_cpu()) return;
  }
  row->apply(arguments, tensors, result);
}

bool knows_layouts(const OperatorInfo& info, Arguments arguments, Tensors tensors, const MetadataResult& result) {
  // The fake implementation of a custom operator is its author's word.
  if (!info.builtin) return true;
  if (const Correction* row = find_row(kCorrections, info.name)) return !row->holds || row->holds(arguments, tensors);
  if (info.structured && !std::ranges::binary_search(kLaidOutByKernel, std::string_view(info.name))) return true;
  const auto is_new_on_cpu = [](const TensorResult& output) {
    return output.kind == TensorResult::Kind::Fresh && output.device.is_cpu() && !output.layout.sizes.empty();
  };
  if (std::ranges::binary_search(kWrong, std::string_view(info.name))) return false;
  if (std::ranges::binary_search(kWrongForSeveralDtypes, std::string_view(info.name)) &&
      result.tensors[0].device.is_cpu() && !have_one_dtype(tensors))
    return false;
  return std::ranges::none_of(result.tensors, is_new_on_cpu) ||
         std::ranges::all_of(tensors, [](const at::Tensor* tensor) { return is_laid_out_as_usual(*tensor); }) ||
         std::ranges::binary_search(kVerified, std::string_view(info.name));
}

}  // namespace minidynamo
