#include "tensor/dispatch/native_metadata.h"

#include <c10/util/strides.h>

#include <algorithm>
#include <array>

#include "tensor/dispatch/memo.h"
#include "tensor/symbolic/sorted_rows.h"

namespace minidynamo {
namespace {

using Arguments = c10::ArrayRef<c10::IValue>;
using Tensors = c10::ArrayRef<const at::Tensor*>;  // by argument
using Sizes = std::vector<int64_t>;

// True if the first tensor is of a floating-point dtype, and all that are given are of this dtype and on the CPU.
bool are_alike(Tensors tensors, std::initializer_list<size_t> indices) {
  const at::Tensor* first = tensors[*indices.begin()];
  if (!first || !first->is_floating_point()) return false;
  return std::ranges::all_of(indices, [&](size_t index) {
    const at::Tensor* tensor = tensors[index];
    return !tensor || (tensor->device().is_cpu() && tensor->scalar_type() == first->scalar_type() &&
                       !tensor->is_conj() && !tensor->is_neg());
  });
}

bool are_contiguous(Tensors tensors, std::initializer_list<size_t> indices) {
  return std::ranges::all_of(indices, [&](size_t index) {
    const at::Tensor* tensor = tensors[index];
    return !tensor || tensor->is_contiguous();
  });
}

bool has_size(const at::Tensor* vector, int64_t size) {
  return !vector || (vector->dim() == 1 && vector->size(0) == size);
}

void add_nothing(MetadataResult& result) {
  TensorResult entry;
  entry.kind = TensorResult::Kind::Undefined;
  result.tensors.push_back(std::move(entry));
  result.returns.push_back({ReturnShape::Kind::Tensor, 1, {}});
}

// A new contiguous tensor.
void add(MetadataResult& result, c10::IntArrayRef sizes, const at::Tensor& of_dtype) {
  TensorResult entry;
  entry.layout.sizes.assign(sizes.begin(), sizes.end());
  const c10::DimVector strides = c10::contiguous_strides(sizes);
  entry.layout.strides.assign(strides.begin(), strides.end());
  entry.layout.dtype = of_dtype.dtype();
  entry.bytes = storage_bytes(entry.layout);
  result.tensors.push_back(std::move(entry));
  result.returns.push_back({ReturnShape::Kind::Tensor, 1, {}});
}

void add_if(bool is_wanted, MetadataResult& result, c10::IntArrayRef sizes, const at::Tensor& of_dtype) {
  is_wanted ? add(result, sizes, of_dtype) : add_nothing(result);
}

// A list of ints, of one for all dimensions or of one for each; empty if it is none.
Sizes for_each_dimension(const c10::IValue& value, size_t count) {
  if (!value.isIntList()) return {};
  const c10::List<int64_t> list = value.toIntList();
  if (list.size() == 1) return Sizes(count, list.get(0));
  return list.size() == count ? list.vec() : Sizes();
}

// --- convolutions

// The sizes of a convolution's result; empty where the arguments do not fit each other.
// `parameters`: stride, padding, dilation, transposed, output_padding, groups.
Sizes convolution_sizes(const at::Tensor& input, const at::Tensor& weight, Arguments parameters) {
  const int64_t count = input.dim() - 2;
  if (count < 1 || count > 3 || weight.dim() != input.dim() || !input.numel() || !weight.numel()) return {};
  const auto dimensions = static_cast<size_t>(count);
  const Sizes stride = for_each_dimension(parameters[0], dimensions),
              padding = for_each_dimension(parameters[1], dimensions),
              dilation = for_each_dimension(parameters[2], dimensions);
  const bool is_transposed = parameters[3].toBool();
  const Sizes more = for_each_dimension(parameters[4], dimensions);
  const int64_t groups = parameters[5].toInt(), channels = input.size(1);
  if (stride.empty() || padding.empty() || dilation.empty() || more.empty() || groups < 1) return {};
  if (is_transposed ? weight.size(0) != channels || channels % groups
                    : weight.size(1) * groups != channels || weight.size(0) % groups)
    return {};
  Sizes sizes{input.size(0), is_transposed ? weight.size(1) * groups : weight.size(0)};
  for (size_t i = 0; i < dimensions; ++i) {
    if (stride[i] < 1 || padding[i] < 0 || dilation[i] < 1 || more[i] < 0) return {};
    const int64_t before = input.size(static_cast<int64_t>(i) + 2);
    const int64_t reach = dilation[i] * (weight.size(static_cast<int64_t>(i) + 2) - 1);
    if (is_transposed && more[i] >= std::max(stride[i], dilation[i])) return {};
    if (!is_transposed && before + 2 * padding[i] < reach + 1) return {};
    const int64_t after = is_transposed ? (before - 1) * stride[i] - 2 * padding[i] + reach + more[i] + 1
                                        : (before + 2 * padding[i] - reach - 1) / stride[i] + 1;
    if (after < 1) return {};
    sizes.push_back(after);
  }
  return sizes;
}

// (input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)
bool convolution(Arguments arguments, Tensors tensors, MetadataResult& result) {
  const at::Tensor *input = tensors[0], *weight = tensors[1];
  if (!input || !weight || !are_alike(tensors, {0, 1, 2})) return false;
  const Sizes sizes = convolution_sizes(*input, *weight, arguments.slice(3));
  if (sizes.empty() || !has_size(tensors[2], sizes[1])) return false;
  add(result, sizes, *input);
  return true;
}

// (grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding, groups, output_mask)
bool convolution_backward(Arguments arguments, Tensors tensors, MetadataResult& result) {
  const at::Tensor *gradient = tensors[0], *input = tensors[1], *weight = tensors[2];
  if (!gradient || !input || !weight || !are_alike(tensors, {0, 1, 2})) return false;
  const Sizes sizes = convolution_sizes(*input, *weight, arguments.slice(4));
  const c10::List<bool> wanted = arguments[10].toBoolList();
  if (sizes.empty() || gradient->sizes() != c10::IntArrayRef(sizes) || wanted.size() != 3) return false;
  add_if(wanted.get(0), result, input->sizes(), *input);
  add_if(wanted.get(1), result, weight->sizes(), *weight);
  add_if(wanted.get(2), result, {sizes[1]}, *input);
  return true;
}

// --- normalizations

// (input, weight, bias, running_mean, running_var, training, momentum, eps)
bool batch_norm(Arguments, Tensors tensors, MetadataResult& result) {
  const at::Tensor* input = tensors[0];
  if (!input || input->dim() < 2 || !input->numel() || !are_alike(tensors, {0, 1, 2, 3, 4})) return false;
  const int64_t channels = input->size(1);
  for (const size_t parameter : {1, 2, 3, 4})
    if (!has_size(tensors[parameter], channels)) return false;
  add(result, input->sizes(), *input);
  for (int i = 0; i < 2; ++i) add(result, {channels}, *input);
  return true;
}

// (grad_out, input, weight, running_mean, running_var, save_mean, save_invstd, train, eps, output_mask)
bool batch_norm_backward(Arguments arguments, Tensors tensors, MetadataResult& result) {
  const at::Tensor *gradient = tensors[0], *input = tensors[1];
  if (!gradient || !input || input->dim() < 2 || !input->numel() || gradient->sizes() != input->sizes() ||
      !are_alike(tensors, {0, 1, 2, 3, 4, 5, 6}) || !are_contiguous(tensors, {0, 1}))
    return false;
  const int64_t channels = input->size(1);
  for (const size_t parameter : {2, 3, 4})
    if (!has_size(tensors[parameter], channels)) return false;
  const c10::List<bool> wanted = arguments[9].toBoolList();
  if (wanted.size() != 3) return false;
  add_if(wanted.get(0), result, input->sizes(), *input);
  for (const size_t parameter : {1, 2}) add_if(wanted.get(parameter), result, {channels}, *input);
  return true;
}

// The sizes of an input up to the dimensions that are normalized; empty optional: these are not its last ones.
std::optional<Sizes> outer_sizes(const at::Tensor& input, const c10::IValue& normalized) {
  if (!normalized.isIntList()) return std::nullopt;
  const Sizes inner = normalized.toIntVector();
  const c10::IntArrayRef sizes = input.sizes();
  if (inner.empty() || inner.size() > sizes.size() || !input.numel()) return std::nullopt;
  const size_t outer = sizes.size() - inner.size();
  if (!std::equal(inner.begin(), inner.end(), sizes.begin() + outer)) return std::nullopt;
  return Sizes(sizes.begin(), sizes.begin() + outer);
}

bool has_sizes(const at::Tensor* parameter, const c10::IValue& sizes) {
  return !parameter || parameter->sizes() == c10::IntArrayRef(sizes.toIntVector());
}

// (input, normalized_shape, weight, bias, eps)
bool layer_norm(Arguments arguments, Tensors tensors, MetadataResult& result) {
  const at::Tensor* input = tensors[0];
  if (!input || !are_alike(tensors, {0, 2, 3})) return false;
  std::optional<Sizes> statistics = outer_sizes(*input, arguments[1]);
  if (!statistics || !has_sizes(tensors[2], arguments[1]) || !has_sizes(tensors[3], arguments[1])) return false;
  statistics->resize(static_cast<size_t>(input->dim()), 1);
  add(result, input->sizes(), *input);
  for (int i = 0; i < 2; ++i) add(result, *statistics, *input);
  return true;
}

// (grad_out, input, normalized_shape, mean, rstd, weight, bias, output_mask)
bool layer_norm_backward(Arguments arguments, Tensors tensors, MetadataResult& result) {
  const at::Tensor *gradient = tensors[0], *input = tensors[1];
  if (!gradient || !input || gradient->sizes() != input->sizes() || !are_alike(tensors, {0, 1, 3, 4, 5, 6}) ||
      !are_contiguous(tensors, {0, 1, 3, 4, 5, 6}) || !outer_sizes(*input, arguments[2]))
    return false;
  const at::Tensor* parameters[] = {tensors[5], tensors[6]};
  const c10::List<bool> wanted = arguments[7].toBoolList();
  if (wanted.size() != 3) return false;
  for (size_t i = 0; i < 2; ++i)
    if (!has_sizes(parameters[i], arguments[2]) || (wanted.get(i + 1) && !parameters[i])) return false;
  add_if(wanted.get(0), result, input->sizes(), *input);
  for (size_t i = 0; i < 2; ++i) add_if(wanted.get(i + 1), result, arguments[2].toIntVector(), *input);
  return true;
}

// --- others

// (weight, indices, padding_idx, scale_grad_by_freq, sparse)
bool embedding(Arguments, Tensors tensors, MetadataResult& result) {
  const at::Tensor *weight = tensors[0], *indices = tensors[1];
  if (!weight || !indices || !are_alike(tensors, {0}) || weight->dim() != 2 || !indices->device().is_cpu() ||
      (indices->scalar_type() != c10::kLong && indices->scalar_type() != c10::kInt))
    return false;
  Sizes sizes(indices->sizes().begin(), indices->sizes().end());
  sizes.push_back(weight->size(1));
  add(result, sizes, *weight);
  return true;
}

// (self, ...): element by element
bool same(Arguments, Tensors tensors, MetadataResult& result) {
  if (!are_alike(tensors, {0}) || !are_contiguous(tensors, {0})) return false;
  const at::Tensor& tensor = *tensors[0];
  add(result, tensor.sizes(), tensor);
  return true;
}

// (self, number, ...): element by element, with a real number, which leaves a floating-point dtype as it is
bool with_number(Arguments arguments, Tensors tensors, MetadataResult& result) {
  const c10::IValue& number = arguments[1];
  return (number.isInt() || number.isDouble() || number.isBool()) && same(arguments, tensors, result);
}

// (self, ..., dtype, layout, device, pin_memory, memory_format): a tensor like another one
template <size_t kDtype>
bool like(Arguments arguments, Tensors tensors, MetadataResult& result) {
  const at::Tensor* tensor = tensors[0];
  const c10::IValue &dtype = arguments[kDtype], &layout = arguments[kDtype + 1];
  if (!tensor || !tensor->device().is_cpu() || tensor->is_conj() || tensor->is_neg() ||
      !(layout.isNone() || layout.toLayout() == c10::kStrided))
    return false;
  add(result, tensor->sizes(), *tensor);
  if (dtype.isNone()) return true;
  TensorResult& made = result.tensors.back();
  made.layout.dtype = c10::scalarTypeToTypeMeta(dtype.toScalarType());
  made.bytes = storage_bytes(made.layout);
  return true;
}

struct Row {
  std::string_view name;
  NativeMetadata rule;
};

// Sorted by name.
constexpr std::array kRows{
    Row{"aten::add.Scalar", &with_number},
    Row{"aten::convolution", &convolution},
    Row{"aten::convolution_backward", &convolution_backward},
    Row{"aten::div.Scalar", &with_number},
    Row{"aten::embedding", &embedding},
    Row{"aten::empty_like", &like<1>},
    Row{"aten::full_like", &like<2>},
    Row{"aten::mul.Scalar", &with_number},
    Row{"aten::native_batch_norm", &batch_norm},
    Row{"aten::native_batch_norm_backward", &batch_norm_backward},
    Row{"aten::native_layer_norm", &layer_norm},
    Row{"aten::native_layer_norm_backward", &layer_norm_backward},
    Row{"aten::ones_like", &like<1>},
    Row{"aten::relu", &same},
    Row{"aten::sub.Scalar", &with_number},
    Row{"aten::zeros_like", &like<1>},
};
static_assert(std::ranges::is_sorted(kRows, {}, &Row::name));

}  // namespace

NativeMetadata native_metadata(std::string_view operator_name) noexcept {
  const Row* row = find_row(kRows, operator_name);
  return row ? row->rule : nullptr;
}

}  // namespace minidynamo
