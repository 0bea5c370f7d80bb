#include "tensor/symbolic/unknown_sizes.h"

#include <algorithm>
#include <string_view>

#include "tensor/symbolic/symbolic_fake.h"
#include "tensor/symbolic/symbolic_metadata.h"

namespace minidynamo {
namespace {

using Sizes = c10::SmallVector<Expression, 5>;

constexpr SizeRange kAnySize{0, INT64_MAX};

Sizes sizes_of(const at::Tensor& tensor) {
  if (const SymbolicFake* symbolic = SymbolicFake::of(tensor)) return symbolic->symbols()->sizes;
  Sizes sizes;
  for (const int64_t size : tensor.unsafeGetTensorImpl()->sizes()) sizes.push_back(constant(size));
  return sizes;
}

FakeLayout layout_of(c10::ScalarType dtype, const Sizes& sizes, const std::vector<Expression>& strides) {
  const TraceSizes& trace = *current_trace_sizes();
  FakeLayout layout;
  SymbolicLayout symbols;
  for (const Expression size : sizes) layout.sizes.push_back(trace.value_of(size));
  for (const Expression stride : strides) layout.strides.push_back(trace.value_of(stride));
  for (const Expression size : sizes) symbols.sizes.push_back(size);
  for (const Expression stride : strides) symbols.strides.push_back(stride);
  layout.dtype = c10::scalarTypeToTypeMeta(dtype);
  const auto is_known = [](Expression e) { return is_constant_expression(e); };
  if (!std::ranges::all_of(sizes, is_known) || !std::ranges::all_of(strides, is_known))
    layout.symbols = std::make_shared<SymbolicLayout>(std::move(symbols));
  return layout;
}

FakeLayout contiguous(c10::ScalarType dtype, const Sizes& sizes) {
  std::vector<Expression> strides;
  Expression stride = constant(1);
  for (size_t i = sizes.size(); i-- > 0;) {
    strides.push_back(stride);
    stride = stride * sizes[i];
  }
  std::ranges::reverse(strides);
  return layout_of(dtype, sizes, strides);
}

// Collects the results of a call, one tensor each.
class Results {
 public:
  explicit Results(c10::Device device) : device_(device) {}
  void add(FakeLayout layout) {
    TensorResult& entry = made_.tensors.emplace_back();
    entry.bytes = storage_bytes(layout);
    entry.layout = std::move(layout);
    entry.device = device_;
    made_.returns.emplace_back();
  }
  // Empty where it is not asked for.
  void add_if(bool is_wanted, FakeLayout layout) {
    add(is_wanted ? std::move(layout) : contiguous(c10::kLong, {constant(0)}));
  }
  MetadataResult take() { return std::move(made_); }

 private:
  c10::Device device_;
  MetadataResult made_;
};

struct Call {
  const c10::OperatorHandle& op;
  const OperatorInfo& info;
  c10::ArrayRef<c10::IValue> arguments;
  c10::ArrayRef<const at::Tensor*> tensors;
  const NewUnknownSize& new_size;

  const at::Tensor& self() const { return *tensors[0]; }
  Results results() const { return Results(self().device()); }
  std::optional<Expression> count(SizeRange range = kAnySize) const { return new_size(range, nullptr); }
  std::optional<Expression> elements(const at::Tensor& tensor) const { return new_size(kAnySize, &tensor); }
  bool flag(size_t argument) const { return arguments[argument].toBool(); }
};
using Made = std::optional<MetadataResult>;

// (self)
Made nonzero(const Call& call) {
  const auto count = call.elements(call.self());
  if (!count) return std::nullopt;
  const auto dimensions = static_cast<int64_t>(sizes_of(call.self()).size());
  Results results = call.results();
  results.add(layout_of(c10::kLong, {*count, constant(dimensions)}, {constant(1), *count}));
  return results.take();
}

// (self, mask)
Made masked_select(const Call& call) {
  const at::Tensor& mask = *call.tensors[1];
  const auto count = sizes_of(call.self()) == sizes_of(mask) ? call.elements(mask) : call.count();
  if (!count) return std::nullopt;
  Results results = call.results();
  results.add(contiguous(call.self().scalar_type(), {*count}));
  return results.take();
}

// (repeats, output_size)
Made repeat_interleave(const Call& call) {
  if (sizes_of(call.self()).size() != 1) return std::nullopt;
  const auto count = call.count();
  if (!count) return std::nullopt;
  Results results = call.results();
  results.add(contiguous(call.self().scalar_type(), {*count}));
  return results.take();
}

// (self, weights, minlength)
Made bincount(const Call& call) {
  if (!call.arguments[2].isInt() || call.arguments[2].toInt() < 0 || sizes_of(call.self()).size() != 1)
    return std::nullopt;
  const bool is_weighted = call.tensors.size() > 1 && call.tensors[1]->defined();
  const auto count = call.count({call.arguments[2].toInt(), INT64_MAX});
  if (!count) return std::nullopt;
  Results results = call.results();
  results.add(contiguous(!is_weighted                                    ? c10::kLong
                         : call.tensors[1]->scalar_type() == c10::kFloat ? c10::kFloat
                                                                         : c10::kDouble,
                         {*count}));
  return results.take();
}

// _unique2(self, sorted, return_inverse, return_counts), unique_consecutive(self, return_inverse, return_counts, dim)
Made unique(const Call& call) {
  const bool is_consecutive = call.info.name == "aten::unique_consecutive";
  if (is_consecutive && !call.arguments[3].isNone()) return std::nullopt;
  const size_t first = is_consecutive ? 1 : 2;
  const auto count = call.count();
  if (!count) return std::nullopt;
  Results results = call.results();
  results.add(contiguous(call.self().scalar_type(), {*count}));
  results.add_if(call.flag(first), contiguous(c10::kLong, sizes_of(call.self())));
  results.add_if(call.flag(first + 1), contiguous(c10::kLong, {*count}));
  return results.take();
}

// unique_dim(self, dim, sorted, return_inverse, return_counts)
Made unique_dim(const Call& call) {
  Sizes sizes = sizes_of(call.self());
  if (sizes.empty()) return std::nullopt;
  int64_t dimension = call.arguments[1].toInt();
  if (dimension < 0) dimension += static_cast<int64_t>(sizes.size());
  if (dimension != 0 || sizes.size() > 2) return std::nullopt;  // laid out otherwise
  const Expression all = sizes[0];
  const auto count = call.count();
  if (!count) return std::nullopt;
  sizes[0] = *count;
  Results results = call.results();
  results.add(contiguous(call.self().scalar_type(), sizes));
  results.add_if(call.flag(3), contiguous(c10::kLong, {all}));
  results.add_if(call.flag(4), contiguous(c10::kLong, {*count}));
  return results.take();
}

bool is_mask(const at::Tensor& tensor) {
  return tensor.defined() && (tensor.scalar_type() == c10::kBool || tensor.scalar_type() == c10::kByte);
}

// (self, indices): a mask takes the place of as many lists of positions as it has dimensions.
Made index(const Call& call) {
  const c10::ArrayRef<c10::IValue> given = call.arguments[1].toListRef();
  const Sizes sizes = sizes_of(call.self());
  c10::List<std::optional<at::Tensor>> indices;
  size_t dimension = 0;
  for (const c10::IValue& item : given) {
    if (item.isNone()) {
      indices.push_back(std::nullopt);
      ++dimension;
      continue;
    }
    const at::Tensor& tensor = item.toTensor();
    if (!is_mask(tensor)) {
      indices.push_back(tensor);
      ++dimension;
      continue;
    }
    const Sizes shape = sizes_of(tensor);
    if (shape.empty()) return std::nullopt;
    const auto count = call.elements(tensor);
    if (!count) return std::nullopt;
    for (const Expression size : shape) {
      // An index of another size than what it is for is an error.
      if (dimension >= sizes.size() || !current_trace_sizes()->suppose(is_equal(sizes[dimension], size)))
        return std::nullopt;
      const FakeLayout layout = contiguous(c10::kLong, {*count});
      const at::Tensor places = new_fake(layout, storage_bytes(layout), tensor.device());
      indices.push_back(places);
      ++dimension;
    }
  }
  std::vector<const at::Tensor*> tensors = {call.tensors[0]};
  const c10::IValue list = indices;
  const c10::ArrayRef<c10::IValue> items = list.toListRef();
  for (const c10::IValue& item : items)
    if (item.isTensor()) tensors.push_back(&item.toTensor());
  const std::vector<c10::IValue> with_positions = {call.arguments[0], list};
  return symbolic_metadata(call.op, call.info, with_positions, tensors);
}

struct Row {
  std::string_view name;
  Made (*make)(const Call&);
};
constexpr Row kRows[] = {
    {"aten::nonzero", nonzero},
    {"aten::masked_select", masked_select},
    {"aten::repeat_interleave.Tensor", repeat_interleave},
    {"aten::bincount", bincount},
    {"aten::_unique2", unique},
    {"aten::unique_consecutive", unique},
    {"aten::unique_dim", unique_dim},
    {"aten::index.Tensor", index},
};

}  // namespace

std::optional<MetadataResult> metadata_with_unknown_sizes(const c10::OperatorHandle& op, const OperatorInfo& info,
                                                          c10::ArrayRef<c10::IValue> arguments,
                                                          c10::ArrayRef<const at::Tensor*> tensors,
                                                          const NewUnknownSize& new_size) {
  const auto row = std::ranges::find(kRows, std::string_view(info.name), &Row::name);
  if (row == std::end(kRows)) return std::nullopt;
  // On the CPU: elsewhere results are laid out in another way.
  for (const at::Tensor* tensor : tensors)
    if (tensor->defined() && !tensor->is_cpu()) return std::nullopt;
  return row->make({op, info, arguments, tensors, new_size});
}

}  // namespace minidynamo
