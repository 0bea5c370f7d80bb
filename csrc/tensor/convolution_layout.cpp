#include "tensor/convolution_layout.h"

#include <ATen/native/ConvUtils.h>

#include <algorithm>

namespace minidynamo {
namespace {

using Arguments = c10::ArrayRef<c10::IValue>;
using Tensors = c10::ArrayRef<const at::Tensor*>;
using Format = c10::MemoryFormat;

// A tensor for torch's own questions about backends: on the CPU, of the same layout, without memory. torch makes an
// image (N, C, 1, L) of a sequence (N, C, L), and copies the input if that is not contiguous.
at::Tensor image_like(const at::Tensor& tensor, bool is_input) {
  FakeLayout layout = FakeLayout::of(tensor);
  if (layout.sizes.size() == 3) {
    if (is_input && !tensor.is_contiguous()) {
      const int64_t length = layout.sizes[2];
      layout.strides.assign({layout.sizes[1] * length, length, 1});
    }
    layout.strides.insert(layout.strides.begin() + 2, layout.sizes[2] * layout.strides[2]);
    layout.sizes.insert(layout.sizes.begin() + 2, 1);
  }
  auto impl = c10::make_intrusive<c10::TensorImpl>(
      c10::Storage(c10::Storage::use_byte_size_t(), 0, at::DataPtr(nullptr, c10::kCPU)),
      c10::DispatchKeySet(c10::DispatchKey::CPU), layout.dtype);
  impl->set_sizes_and_strides(layout.sizes, layout.strides, layout.offset);
  return at::Tensor(std::move(impl));
}

std::vector<c10::SymInt> numbers(const c10::IValue& value, bool is_sequence, int64_t of_height) {
  std::vector<c10::SymInt> list;
  for (const c10::IValue& item : value.toListRef()) list.emplace_back(item.toInt());
  if (is_sequence && list.size() == 1) list.insert(list.begin(), of_height);
  return list;
}

Format backend_format(const at::Tensor& input, const at::Tensor& weight, Arguments parameters) {
  const bool is_sequence = input.dim() == 3;
  const at::Tensor image = image_like(input, true), kernel = image_like(weight, false);
  const at::native::ConvBackend backend = at::native::select_conv_backend(
      image, kernel, std::nullopt, numbers(parameters[0], is_sequence, 1), numbers(parameters[1], is_sequence, 0),
      numbers(parameters[2], is_sequence, 1), parameters[3].toBool(), numbers(parameters[4], is_sequence, 0),
      c10::SymInt(parameters[5].toInt()), std::nullopt);
  return at::native::_determine_backend_memory_format(image, kernel, backend);
}

void set_format(TensorResult& result, Format format) {
  if (result.kind != TensorResult::Kind::Fresh) return;
  FakeLayout& layout = result.layout;
  const size_t rank = layout.sizes.size();
  const bool is_channels_last = format == Format::ChannelsLast || format == Format::ChannelsLast3d;
  int64_t stride = 1;
  auto place = [&](size_t dimension) {
    layout.strides[dimension] = stride;
    stride *= std::max<int64_t>(layout.sizes[dimension], 1);
  };
  if (is_channels_last) place(1);
  for (size_t d = rank; d-- > 0;)
    if (d != 1 || !is_channels_last) place(d);
  result.bytes = storage_bytes(layout);
}

}  // namespace

void convolution_layout(Arguments arguments, Tensors tensors, MetadataResult& result) {
  set_format(result.tensors[0], backend_format(*tensors[0], *tensors[1], arguments.slice(3)));
}

void convolution_backward_layout(Arguments arguments, Tensors tensors, MetadataResult& result) {
  const Format format = backend_format(*tensors[1], *tensors[2], arguments.slice(4));
  for (size_t i : {0, 1}) set_format(result.tensors[i], format);
}

}  // namespace minidynamo
