#include "tensor/symbolic/symbolic_rules.h"

#include <string_view>

#include "tensor/symbolic/size_node.h"
#include "tensor/symbolic/symbolic_fake.h"

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

Expression number_of(const c10::IValue& value) {
  return value.isSymInt() ? expression_of(value.toSymInt()) : constant(value.toInt());
}

size_t wrapped(int64_t dimension, size_t count) {
  return static_cast<size_t>(dimension < 0 ? dimension + static_cast<int64_t>(count) : dimension);
}

// An index as slices take it: from the end if negative, and no further than the ends.
Expression clamped(const SymbolicCall& call, Expression index, Expression size) {
  if (!call.suppose(is_less_equal(constant(0), index))) {
    index = index + size;
    if (!call.suppose(is_less_equal(constant(0), index))) return constant(0);
  }
  return call.suppose(is_less_equal(index, size)) ? index : size;
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
  // Past the end whatever the size is: the slice x[n:].
  const bool is_open =
      call.arguments[3].isNone() || (call.arguments[3].isInt() && call.arguments[3].toInt() == INT64_MAX);
  if (!is_open) end = clamped(call, call.number(3), size);
  if (!call.suppose(is_less_equal(start, end))) end = start;
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
  if (!call.suppose(is_less_equal(constant(0), index))) index = index + layout.sizes[d];
  if (call.trace.is_unknown(index) || call.trace.is_unknown(layout.sizes[d]))
    if (!call.suppose(is_less(index, layout.sizes[d]))) return std::nullopt;
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
      else if (!call.suppose(is_equal(result->sizes[k], layout.sizes[k])))
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
  if (step <= 0 || !call.suppose(is_less_equal(start, end))) return std::nullopt;
  SymbolicLayout layout;
  layout.sizes.push_back(step == 1 ? end - start : floor_divide(end - start + constant(step - 1), constant(step)));
  make_contiguous(layout);
  return layout;
}

// An operator that takes elements one by one, of tensors that are laid out as usual.
Layout elementwise(const SymbolicCall& call) {
  Layout result;
  for (size_t i = 0; i < call.tensors.size(); ++i) {
    if (!call.tensors[i]->defined()) return std::nullopt;
    SymbolicLayout layout = call.layout(i);
    if (!is_usual(layout)) return std::nullopt;
    if (!result) {
      result = std::move(layout);
      continue;
    }
    if (layout.sizes.size() > result->sizes.size()) std::swap(*result, layout);
    const size_t ahead = result->sizes.size() - layout.sizes.size();
    for (size_t d = 0; d < layout.sizes.size(); ++d) {
      Expression& size = result->sizes[ahead + d];
      const Expression other = layout.sizes[d];
      if (size == other || other == constant(1)) continue;
      if (size == constant(1))
        size = other;
      else if (!call.suppose(is_equal(size, other)))
        return std::nullopt;
    }
  }
  if (result) make_contiguous(*result);
  return result;
}

// (self, size)
Layout view(const SymbolicCall& call) {
  const SymbolicLayout self = call.layout(0);
  if (!is_usual(self)) return std::nullopt;
  SymbolicLayout layout;
  Expression all = constant(1), known = constant(1);
  for (const Expression size : self.sizes) all = all * size;
  std::optional<size_t> rest;
  for (const c10::IValue& item : call.arguments[1].toListRef()) {
    if (item.isInt() && item.toInt() == -1) {
      rest = layout.sizes.size();
      layout.sizes.push_back(constant(1));
      continue;
    }
    if (!item.isInt() && !item.isSymInt()) return std::nullopt;
    layout.sizes.push_back(item.isSymInt() ? expression_of(item.toSymInt()) : constant(item.toInt()));
    known = known * layout.sizes.back();
  }
  if (rest) {
    if (!call.suppose(is_equal(known, constant(0)).negated())) return std::nullopt;
    layout.sizes[*rest] = floor_divide(all, known);
    known = known * layout.sizes[*rest];
  }
  if (!call.suppose(is_equal(known, all))) return std::nullopt;
  make_contiguous(layout);
  layout.offset = self.offset;
  return layout;
}

// (self, dim0, dim1)
Layout transpose(const SymbolicCall& call) {
  SymbolicLayout layout = call.layout(0);
  const size_t count = layout.sizes.size();
  if (count == 0) return layout;
  const size_t a = wrapped(call.arguments[1].toInt(), count), b = wrapped(call.arguments[2].toInt(), count);
  std::swap(layout.sizes[a], layout.sizes[b]);
  std::swap(layout.strides[a], layout.strides[b]);
  return layout;
}

// (self)
Layout transpose_matrix(const SymbolicCall& call) {
  SymbolicLayout layout = call.layout(0);
  if (layout.sizes.size() == 2) {
    std::swap(layout.sizes[0], layout.sizes[1]);
    std::swap(layout.strides[0], layout.strides[1]);
  }
  return layout;
}

// (self, dims)
Layout permute(const SymbolicCall& call) {
  const SymbolicLayout self = call.layout(0);
  SymbolicLayout layout = self;
  size_t next = 0;
  for (const c10::IValue& item : call.arguments[1].toListRef()) {
    if (!item.isInt()) return std::nullopt;
    const size_t from = wrapped(item.toInt(), self.sizes.size());
    layout.sizes[next] = self.sizes[from];
    layout.strides[next++] = self.strides[from];
  }
  return layout;
}

// (self, dim)
Layout unsqueeze(const SymbolicCall& call) {
  SymbolicLayout layout = call.layout(0);
  const size_t d = wrapped(call.arguments[1].toInt(), layout.sizes.size() + 1);
  const Expression stride = d < layout.sizes.size() ? layout.sizes[d] * layout.strides[d] : constant(1);
  layout.sizes.insert(layout.sizes.begin() + d, constant(1));
  layout.strides.insert(layout.strides.begin() + d, stride);
  return layout;
}

// (self, size, implicit)
Layout expand(const SymbolicCall& call) {
  const SymbolicLayout self = call.layout(0);
  const c10::ArrayRef<c10::IValue> sizes = call.arguments[1].toListRef();
  if (sizes.size() < self.sizes.size()) return std::nullopt;
  const size_t ahead = sizes.size() - self.sizes.size();
  SymbolicLayout layout;
  layout.offset = self.offset;
  for (size_t d = 0; d < sizes.size(); ++d) {
    const Expression wanted = sizes[d].isSymInt() ? expression_of(sizes[d].toSymInt()) : constant(sizes[d].toInt());
    if (d < ahead) {
      layout.sizes.push_back(wanted);
      layout.strides.push_back(constant(0));
      continue;
    }
    const Expression own = self.sizes[d - ahead];
    const bool is_kept = wanted == constant(-1) || wanted == own;
    if (!is_kept && own != constant(1) && !call.suppose(is_equal(own, wanted))) return std::nullopt;
    const bool repeats = !is_kept && own == constant(1);
    layout.sizes.push_back(is_kept ? own : wanted);
    layout.strides.push_back(repeats ? constant(0) : self.strides[d - ahead]);
  }
  return layout;
}

// (self)
Layout alias(const SymbolicCall& call) { return call.layout(0); }

// The last two tensors are matrices, or batches of them.
Layout matrix_product(const SymbolicCall& call) {
  const size_t count = call.tensors.size();
  const SymbolicLayout left = call.layout(count - 2), right = call.layout(count - 1);
  const size_t rank = left.sizes.size();
  if (rank < 2 || right.sizes.size() != rank || !call.suppose(is_equal(left.sizes[rank - 1], right.sizes[rank - 2])))
    return std::nullopt;
  SymbolicLayout layout;
  layout.sizes = left.sizes;
  layout.sizes[rank - 1] = right.sizes[rank - 1];
  make_contiguous(layout);
  return layout;
}

struct Row {
  std::string_view name;
  Layout (*layout)(const SymbolicCall&);
};

constexpr Row kRows[] = {
    {"aten::slice.Tensor", slice},
    {"aten::select.int", select},
    {"aten::cat", cat},
    {"aten::arange", arange},
    {"aten::arange.start", arange},
    {"aten::arange.start_step", arange},
    {"aten::view", view},
    {"aten::_unsafe_view", view},
    {"aten::transpose.int", transpose},
    {"aten::t", transpose_matrix},
    {"aten::permute", permute},
    {"aten::unsqueeze", unsqueeze},
    {"aten::expand", expand},
    {"aten::detach", alias},
    {"aten::alias", alias},
    {"aten::mm", matrix_product},
    {"aten::bmm", matrix_product},
    {"aten::addmm", matrix_product},
    {"aten::relu", elementwise},
    {"aten::gelu", elementwise},
    {"aten::sin", elementwise},
    {"aten::cos", elementwise},
    {"aten::tanh", elementwise},
    {"aten::sigmoid", elementwise},
    {"aten::exp", elementwise},
    {"aten::log", elementwise},
    {"aten::neg", elementwise},
    {"aten::abs", elementwise},
    {"aten::sqrt", elementwise},
    {"aten::rsqrt", elementwise},
    {"aten::silu", elementwise},
    {"aten::erf", elementwise},
    {"aten::clone", elementwise},
    {"aten::_softmax", elementwise},
    {"aten::_log_softmax", elementwise},
    {"aten::cumsum", elementwise},
    {"aten::logical_not", elementwise},
    {"aten::add.Tensor", elementwise},
    {"aten::sub.Tensor", elementwise},
    {"aten::mul.Tensor", elementwise},
    {"aten::div.Tensor", elementwise},
    {"aten::pow.Tensor_Scalar", elementwise},
    {"aten::pow.Tensor_Tensor", elementwise},
    {"aten::add.Scalar", elementwise},
    {"aten::mul.Scalar", elementwise},
    {"aten::sub.Scalar", elementwise},
    {"aten::div.Scalar", elementwise},
    {"aten::eq.Tensor", elementwise},
    {"aten::ne.Tensor", elementwise},
    {"aten::lt.Tensor", elementwise},
    {"aten::le.Tensor", elementwise},
    {"aten::gt.Tensor", elementwise},
    {"aten::ge.Tensor", elementwise},
    {"aten::eq.Scalar", elementwise},
    {"aten::ne.Scalar", elementwise},
    {"aten::lt.Scalar", elementwise},
    {"aten::le.Scalar", elementwise},
    {"aten::gt.Scalar", elementwise},
    {"aten::ge.Scalar", elementwise},
    {"aten::where.self", elementwise},
    {"aten::maximum", elementwise},
    {"aten::minimum", elementwise},
    {"aten::masked_fill.Scalar", elementwise},
    {"aten::_to_copy", elementwise},
    {"aten::bitwise_and.Tensor", elementwise},
    {"aten::bitwise_or.Tensor", elementwise},
    {"aten::zeros_like", elementwise},
    {"aten::ones_like", elementwise},
    {"aten::full_like", elementwise},
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

Expression SymbolicCall::number(size_t argument) const { return number_of(arguments[argument]); }

std::vector<SymbolicLayout> part_layouts(const SymbolicCall& call, size_t count) {
  const bool has_sizes = call.info.name == "aten::split_with_sizes";    // (self, sizes, dim)
  if (!has_sizes && call.info.name != "aten::split.Tensor") return {};  // (self, size, dim)
  const SymbolicLayout whole = call.layout(0);
  const size_t d = wrapped(call.arguments[2].toInt(), whole.sizes.size());
  std::vector<Expression> sizes;
  if (has_sizes) {
    for (const c10::IValue& size : call.arguments[1].toListRef()) sizes.push_back(number_of(size));
    Expression sum;
    for (const Expression size : sizes) sum = sum + size;
    if (!call.suppose(is_equal(sum, whole.sizes[d]))) return {};
  } else {
    const Expression size = call.number(1), others = size * constant(static_cast<int64_t>(count) - 1);
    if (!call.suppose(is_less(others, whole.sizes[d])) || !call.suppose(is_less_equal(whole.sizes[d], others + size)))
      return {};
    sizes.assign(count - 1, size);
    sizes.push_back(whole.sizes[d] - others);
  }
  if (sizes.size() != count) return {};
  std::vector<SymbolicLayout> parts;
  Expression offset = whole.offset;
  for (const Expression size : sizes) {
    parts.push_back(whole);
    parts.back().sizes[d] = size;
    parts.back().offset = offset;
    offset = offset + size * whole.strides[d];
  }
  return parts;
}

std::optional<SymbolicLayout> rule_layout(const SymbolicCall& call) {
  for (const Row& row : kRows)
    if (row.name == call.info.name) return row.layout(call);
  return std::nullopt;
}

}  // namespace minidynamo
