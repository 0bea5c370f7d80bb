#include "tensor/values/memory_overlap.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace minidynamo {
namespace {

// A difference of two indices into a dimension, times the bytes from one index to the next.
struct Term {
  int64_t stride, lowest, highest;
};

// Looks for integers d, each within its term's bounds, whose products with the strides sum to `target`.
class Search {
 public:
  explicit Search(std::vector<Term> terms) {
    std::ranges::sort(terms, std::greater(), &Term::stride);
    for (const Term& term : terms) {
      if (terms_.empty() || terms_.back().stride != term.stride) {
        terms_.push_back(term);
      } else {
        terms_.back().lowest += term.lowest;
        terms_.back().highest += term.highest;
      }
    }
    suffixes_.resize(terms_.size() + 1);
    for (size_t i = terms_.size(); i-- > 0;) {
      const Term& term = terms_[i];
      suffixes_[i] = {.divisor = std::gcd(suffixes_[i + 1].divisor, term.stride),
                      .lowest = suffixes_[i + 1].lowest + term.stride * term.lowest,
                      .highest = suffixes_[i + 1].highest + term.stride * term.highest};
    }
  }

  // True also if the steps ran out.
  bool reaches(int64_t target, size_t from = 0) {
    const Suffix& rest = suffixes_[from];
    if (target < rest.lowest || target > rest.highest) return false;
    if (rest.divisor == 0) return target == 0;
    if (target % rest.divisor != 0) return false;
    if (from + 1 == terms_.size()) return true;
    const Term& term = terms_[from];
    const Suffix& after = suffixes_[from + 1];
    // target - d * stride must lie within what the smaller strides reach.
    const int64_t first = std::max(term.lowest, ceiling(target - after.highest, term.stride)),
                  last = std::min(term.highest, floor(target - after.lowest, term.stride));
    for (int64_t d = first; d <= last; ++d) {
      if (--steps_ < 0 || reaches(target - d * term.stride, from + 1)) return true;
    }
    return false;
  }

 private:
  struct Suffix {
    int64_t divisor = 0, lowest = 0, highest = 0;
  };

  static int64_t floor(int64_t a, int64_t b) { return a / b - (a % b < 0); }
  static int64_t ceiling(int64_t a, int64_t b) { return -floor(-a, b); }

  std::vector<Term> terms_;
  std::vector<Suffix> suffixes_;  // the range that the terms from an index on reach
  // The strides of most tensors nest, and then each step leaves one or two places to look at.
  int64_t steps_ = 10'000;
};

// The indices of a tensor's dimensions or, with `sign` -1, their negatives; `unit` is the size of an element.
void add_dimensions(std::vector<Term>& terms, const c10::TensorImpl& impl, int sign, int64_t unit) {
  for (int64_t i = 0; i < impl.dim(); ++i) {
    const int64_t last = impl.sizes()[i] - 1, stride = impl.strides()[i] * unit;
    if (last == 0 || stride == 0) continue;
    terms.push_back({stride, sign > 0 ? 0 : -last, sign > 0 ? last : 0});
  }
}

}  // namespace

MemoryOverlap memory_overlap(const at::TensorBase& one, const at::TensorBase& other) {
  const c10::TensorImpl *a = one.unsafeGetTensorImpl(), *b = other.unsafeGetTensorImpl();
  if (a->numel() == 0 || b->numel() == 0) return MemoryOverlap::None;
  if (a == b || (a->storage_offset() == b->storage_offset() && a->sizes() == b->sizes() &&
                 a->strides() == b->strides() && a->itemsize() == b->itemsize()))
    return MemoryOverlap::Full;
  // Two elements lie in the same place if their distance is that of the tensors' first ones. Elements of different
  // sizes are compared byte by byte.
  const bool by_bytes = a->itemsize() != b->itemsize();
  const int64_t size_a = by_bytes ? int64_t(a->itemsize()) : 1, size_b = by_bytes ? int64_t(b->itemsize()) : 1;
  std::vector<Term> terms;
  add_dimensions(terms, *a, 1, size_a);
  add_dimensions(terms, *b, -1, size_b);
  if (by_bytes) terms.push_back({1, 1 - size_b, size_a - 1});
  const int64_t distance = b->storage_offset() * size_b - a->storage_offset() * size_a;
  return Search(std::move(terms)).reaches(distance) ? MemoryOverlap::Partial : MemoryOverlap::None;
}

bool overlaps_itself(const at::TensorBase& tensor) {
  const c10::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
  if (impl.numel() < 2 || impl.is_non_overlapping_and_dense()) return false;
  std::vector<Term> dimensions;
  add_dimensions(dimensions, impl, 1, 1);
  std::ranges::sort(dimensions, {}, &Term::stride);
  int64_t elements = 1;
  for (const Term& each : dimensions) elements *= each.highest + 1;
  if (elements != impl.numel()) return true;  // a stride of 0
  // The difference of two indices is 0 in the dimensions of the largest strides, and in the next one it can be taken to
  // be positive. For each choice of that dimension:
  for (size_t i = 0; i < dimensions.size(); ++i) {
    std::vector<Term> terms(dimensions.begin(), dimensions.begin() + int64_t(i) + 1);
    for (Term& term : terms) term.lowest = -term.highest;
    terms.back().lowest = 1;
    if (Search(std::move(terms)).reaches(0)) return true;
  }
  return false;
}

}  // namespace minidynamo
