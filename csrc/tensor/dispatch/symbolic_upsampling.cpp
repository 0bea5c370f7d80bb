// torch's composite operators that resize images (torch.nn.functional.interpolate) take symbolic sizes by their
// signature, and refuse them: they compute the result's sizes as ints. For fakes with symbolic sizes the same is
// computed of these.
#include "tensor/dispatch/symbolic_upsampling.h"

#include <ATen/CompositeImplicitAutogradFunctions.h>

#include "tensor/symbolic/symbolic_fake.h"

namespace minidynamo {
namespace {

using Sizes = at::OptionalSymIntArrayRef;
using Scales = std::optional<at::ArrayRef<double>>;

bool is_symbolic(const at::Tensor& input, const Sizes& sizes) {
  if (SymbolicFake::of(input)) return true;
  return sizes && std::ranges::any_of(*sizes, [](const c10::SymInt& size) { return size.is_symbolic(); });
}

// One of them, with so many dimensions that are resized.
template <size_t count>
struct Resized {
  c10::SymDimVector sizes;
  Scales scales;

  // nullopt: it is left to torch's own, which knows what to do, or to raise.
  static std::optional<Resized> of(const at::Tensor& input, const Sizes& sizes, const Scales& scales) {
    const bool is_one = sizes ? sizes->size() == count && !scales : scales && scales->size() == count;
    if (!is_one || input.dim() != static_cast<int64_t>(count) + 2 || !is_symbolic(input, sizes)) return std::nullopt;
    Resized made{{}, scales};
    for (size_t i = 0; i < count; ++i) {
      if (sizes) {
        made.sizes.push_back((*sizes)[i]);
        continue;
      }
      const c10::SymInt size = input.sym_size(static_cast<int64_t>(i) + 2);
      const c10::SymFloat product = static_cast<c10::SymFloat>(size) * (*scales)[i];
      if (product.is_symbolic())
        made.sizes.push_back(c10::SymInt(product.toSymNodeImpl()->floor()));  // no size is negative
      else
        made.sizes.emplace_back(static_cast<int64_t>(product.as_float_unchecked()));
    }
    return made;
  }

  std::optional<double> scale(size_t i) const { return scales ? std::optional((*scales)[i]) : std::nullopt; }

  // Calls the operator that the composite one calls.
  template <typename Operator, typename... Options>
  at::Tensor call(Operator operation, const at::Tensor& input, Options... options) const {
    if constexpr (count == 1) return operation(input, sizes, options..., scale(0));
    if constexpr (count == 2) return operation(input, sizes, options..., scale(0), scale(1));
    if constexpr (count == 3) return operation(input, sizes, options..., scale(0), scale(1), scale(2));
  }
};

template <size_t count, auto composite, auto operation>
at::Tensor nearest(const at::Tensor& input, Sizes sizes, Scales scales) {
  const auto resized = Resized<count>::of(input, sizes, scales);
  return resized ? resized->call(operation, input) : composite(input, sizes, scales);
}

template <size_t count, auto composite, auto operation>
at::Tensor interpolated(const at::Tensor& input, Sizes sizes, bool align_corners, Scales scales) {
  const auto resized = Resized<count>::of(input, sizes, scales);
  return resized ? resized->call(operation, input, align_corners) : composite(input, sizes, align_corners, scales);
}

}  // namespace

void override_upsampling(torch::Library& library) {
  namespace composite = at::compositeimplicitautograd;
  namespace ops = at::_ops;
#define OVERRIDE(kernel, count, name) \
  library.impl(#name ".vec", &kernel<count, &composite::name##_symint, &ops::name::call>)
  OVERRIDE(nearest, 1, upsample_nearest1d);
  OVERRIDE(nearest, 2, upsample_nearest2d);
  OVERRIDE(nearest, 3, upsample_nearest3d);
  OVERRIDE(nearest, 1, _upsample_nearest_exact1d);
  OVERRIDE(nearest, 2, _upsample_nearest_exact2d);
  OVERRIDE(nearest, 3, _upsample_nearest_exact3d);
  OVERRIDE(interpolated, 1, upsample_linear1d);
  OVERRIDE(interpolated, 2, upsample_bilinear2d);
  OVERRIDE(interpolated, 3, upsample_trilinear3d);
  OVERRIDE(interpolated, 2, upsample_bicubic2d);
  OVERRIDE(interpolated, 2, _upsample_bilinear2d_aa);
  OVERRIDE(interpolated, 2, _upsample_bicubic2d_aa);
  OVERRIDE(interpolated, 2, _upsample_lanczos2d_aa);
#undef OVERRIDE
}

}  // namespace minidynamo
