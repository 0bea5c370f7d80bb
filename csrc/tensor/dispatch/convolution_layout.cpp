#include "tensor/dispatch/convolution_layout.h"

#include <ATen/native/ConvUtils.h>

#include "tensor/fake/fake_layout.h"

namespace minidynamo {
namespace {

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

}  // namespace

c10::MemoryFormat convolution_format(const at::Tensor& input, const at::Tensor& weight,
                                     c10::ArrayRef<c10::IValue> parameters) {
  const bool is_sequence = input.dim() == 3;
  const at::Tensor image = image_like(input, true), kernel = image_like(weight, false);
  const at::native::ConvBackend backend = at::native::select_conv_backend(
      image, kernel, std::nullopt, numbers(parameters[0], is_sequence, 1), numbers(parameters[1], is_sequence, 0),
      numbers(parameters[2], is_sequence, 1), parameters[3].toBool(), numbers(parameters[4], is_sequence, 0),
      c10::SymInt(parameters[5].toInt()), std::nullopt);
  return at::native::_determine_backend_memory_format(image, kernel, backend);
}

}  // namespace minidynamo
