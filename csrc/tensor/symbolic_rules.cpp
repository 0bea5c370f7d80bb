#include "tensor/symbolic_rules.h"

#include <string_view>

#include "tensor/size_node.h"
#include "tensor/symbolic_fake.h"

namespace minidynamo {
namespace {

using Layout = std::optional<SymbolicLayout>;

void make_contiguous(SymbolicLayout& layout) {
  Expression stride = constant(1);
  layout.strides.resize(layout.sizes.size());
  for (size_t i = layout.sizes.size(); i-- > 0;) {
    layout.strides[i] = stride;
    stride = stride * layout.sizes[i];
  }
  layout.offset = constant(0);
}

size_t wrapped(int64_t dimension, size_t count) {
  return static_cast<size_t>(dimension < 0 ? dimension + static_cast<int64_t>(count) : dimension);
}

// An index as slices take it: from the end if negative, and no further than the ends.
Expression clamped(const SymbolicCall& call, Expression index, Expression size) {
  if (call.ask(is_less(index, constant(0)))) {
    index = index + size;
    if (call.ask(is_less(index, constant(0)))) return constant(0);
  }
  return call.ask(is_less(size, index)) ? size : index;
}

// (self, dim, start, end, step)
Layout slice(const SymbolicCall& call) {
  SymbolicLayout layout = call.layout(0);
  if (!call.arguments[4].isInt()) return std::nullopt;
  const int64_t step = call.arguments[4].toInt();
  const size_t d = wrapped(call.arguments[1].toInt(), layout.sizes.size());
  const Expression size = layout.sizes[d];
  const Expression start = call.arguments[2].isNone() ? constant(0) : clamped(call, call.number(2), size);
  Expression end = size;
  // Past the end whatever the size is: what x[n:] gives.
  const bool is_open =
      call.arguments[3].isNone() || (call.arguments[3].isInt() && call.arguments[3].toInt() == INT64_MAX);
  if (!is_open) end = clamped(call, call.number(3), size);
  if (call.ask(is_less(end, start))) end = start;
  layout.sizes[d] = step == 1 ? end - start : floor_divide(end - start + constant(step - 1), constant(step));
  layout.offset = layout.offset + start * layout.strides[d];
  layout.strides[d] = layout.strides[d] * constant(step);
  return layout;
}

// (self, dim, index)
Layout select(const SymbolicCall& call) {
  SymbolicLayout layout = call.layout(0);
  const size_t d = wrapped(call.arguments[1].toInt(), layout.sizes.size());
  Expression index = call.number(2);
  if (call.ask(is_less(index, constant(0)))) index = index + layout.sizes[d];
  layout.offset = layout.offset + index * layout.strides[d];
  layout.sizes.erase(layout.sizes.begin() + d);
  layout.strides.erase(layout.strides.begin() + d);
  return layout;
}

// (tensors, dim); of tensors with as many dimensions each, laid out as usual
Layout cat(const SymbolicCall& call) {
  Layout result;
  size_t d = 0;
  for (size_t i = 0; i < call.tensors.size(); ++i) {
    const SymbolicLayout layout = call.layout(i);
    if (!call.tensors[i]->defined() || layout.sizes.empty()) return std::nullopt;
    if (!result) {
      result = layout;
      d = wrapped(call.arguments[1].toInt(), layout.sizes.size());
      continue;
    }
    if (layout.sizes.size() != result->sizes.size()) return std::nullopt;
    for (size_t k = 0; k < layout.sizes.size(); ++k) {
      if (k == d)
        result->sizes[k] = result->sizes[k] + layout.sizes[k];
      else if (!call.ask(is_equal(result->sizes[k], layout.sizes[k])))
        return std::nullopt;
    }
  }
  if (result) make_contiguous(*result);
  return result;
}

// (end, ...), (start, end, ...), (start, end, step, ...) of ints
Layout arange(const SymbolicCall& call) {
  const std::string_view name = call.info.name;
  const bool has_start = name != "aten::arange", has_step = name == "aten::arange.start_step";
  for (size_t i = 0; i < 1u + has_start + has_step; ++i)
    if (!call.arguments[i].isInt() && !call.arguments[i].isSymInt()) return std::nullopt;
  if (has_step && !call.arguments[2].isInt()) return std::nullopt;
  const Expression start = has_start ? call.number(0) : constant(0), end = call.number(has_start ? 1 : 0);
  const int64_t step = has_step ? call.arguments[2].toInt() : 1;
  if (step <= 0 || call.ask(is_less(end, start))) return std::nullopt;
  SymbolicLayout layout;
  layout.sizes.push_back(step == 1 ? end - start : floor_divide(end - start + constant(step - 1), constant(step)));
  make_contiguous(layout);
  return layout;
}

struct Row {
  std::string_view name;
  Layout (*layout)(const SymbolicCall&);
};

constexpr Row kRows[] = {
    {"aten::slice.Tensor", slice}, {"aten::select.int", select},   {"aten::cat", cat},
    {"aten::arange", arange},      {"aten::arange.start", arange}, {"aten::arange.start_step", arange},
};

}  // namespace

SymbolicLayout SymbolicCall::layout(size_t tensor) const {
  const at::Tensor& of = *tensors[tensor];
  if (const SymbolicFake* symbolic = SymbolicFake::of(of)) return *symbolic->symbols();
  SymbolicLayout layout;
  const c10::TensorImpl* impl = of.unsafeGetTensorImpl();
  for (const int64_t size : impl->sizes()) layout.sizes.push_back(constant(size));
  for (const int64_t stride : impl->strides()) layout.strides.push_back(constant(stride));
  layout.offset = constant(impl->storage_offset());
  return layout;
}

Expression SymbolicCall::number(size_t argument) const {
  const c10::IValue& value = arguments[argument];
  return value.isSymInt() ? expression_of(value.toSymInt()) : constant(value.toInt());
}

std::optional<SymbolicLayout> rule_layout(const SymbolicCall& call) {
  for (const Row& row : kRows)
    if (row.name == call.info.name) return row.layout(call);
  return std::nullopt;
}

}  // namespace minidynamo
