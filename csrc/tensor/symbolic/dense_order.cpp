#include "tensor/symbolic/dense_order.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <vector>

namespace minidynamo {
namespace {

bool is(TraceSizes& trace, Expression e, int64_t value) { return trace.ask(is_equal(e, constant(value))); }

bool is_empty(TraceSizes& trace, const SymbolicLayout& layout) {
  return std::ranges::any_of(layout.sizes, [&](Expression size) { return is(trace, size, 0); });
}

// Innermost first.
bool is_dense_in(TraceSizes& trace, const SymbolicLayout& layout, std::span<const size_t> order) {
  Expression expected = constant(1);
  for (const size_t d : order) {
    if (is(trace, layout.sizes[d], 1)) continue;
    if (!trace.ask(is_equal(layout.strides[d], expected))) return false;
    expected = expected * layout.sizes[d];
  }
  return true;
}

}  // namespace

bool is_usual(const SymbolicLayout& layout) {
  Expression stride = constant(1);
  for (size_t i = layout.sizes.size(); i-- > 0;) {
    if (layout.sizes[i] == constant(1)) continue;
    if (layout.strides[i] != stride) return false;
    stride = stride * layout.sizes[i];
  }
  return true;
}

bool is_contiguous(TraceSizes& trace, const SymbolicLayout& layout) {
  if (is_usual(layout)) return true;
  if (is_empty(trace, layout)) return true;
  std::vector<size_t> order(layout.sizes.size());
  std::iota(order.rbegin(), order.rend(), 0);
  return is_dense_in(trace, layout, order);
}

bool is_dense(TraceSizes& trace, const SymbolicLayout& layout) {
  if (is_usual(layout)) return true;
  std::vector<size_t> order(layout.sizes.size());
  std::iota(order.begin(), order.end(), 0);
  // As c10::_compute_non_overlapping_and_dense: sizes of 0 and 1 last, whatever their strides.
  const auto key = [&](size_t d) {
    const int64_t size = trace.value_of(layout.sizes[d]);
    return std::pair(size < 2, trace.value_of(layout.strides[d]));
  };
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return key(a) < key(b); });
  Expression expected = constant(1);
  for (const size_t d : order) {
    if (trace.ask(is_less(layout.sizes[d], constant(2)))) return true;
    const SizeCondition condition = is_equal(layout.strides[d], expected);
    const bool decided = trace.known(condition).has_value();
    if (!trace.ask(condition)) {
      // In another order it might be so at other sizes.
      if (!decided)
        for (const auto& all : {layout.sizes, layout.strides})
          for (const Expression e : all) trace.specialize(e);
      return false;
    }
    expected = expected * layout.sizes[d];
  }
  return true;
}

bool is_contiguous_in_order(TraceSizes& trace, const SymbolicLayout& layout, std::initializer_list<size_t> order) {
  return layout.sizes.size() == order.size() && is_dense_in(trace, layout, std::span(order.begin(), order.size()));
}

bool has_stride_order(TraceSizes& trace, const SymbolicLayout& layout, std::initializer_list<size_t> order) {
  if (layout.sizes.size() != order.size() || is(trace, layout.strides[1], 0)) return false;
  Expression least = constant(0);
  for (const size_t d : order) {
    if (is(trace, layout.sizes[d], 0) || trace.ask(is_less(layout.strides[d], least))) return false;
    if (d == 0 && trace.ask(is_equal(least, layout.strides[1]))) return false;
    least = layout.strides[d];
    if (trace.ask(is_less(constant(1), layout.sizes[d]))) least = least * layout.sizes[d];
  }
  return true;
}

}  // namespace minidynamo
