#include "tensor/symbolic/expression_fit.h"

#include <algorithm>

namespace minidynamo {
namespace {

constexpr int64_t kLargestDivisor = 64;

bool all_equal(const std::vector<int64_t>& numbers) {
  return std::ranges::all_of(numbers, [&](int64_t n) { return n == numbers.front(); });
}

// The difference of two lists, if it is the same everywhere.
template <typename Of>
std::optional<int64_t> constant_difference(const std::vector<int64_t>& numbers, Of of) {
  const int64_t difference = numbers[0] - of(0);
  for (size_t i = 1; i < numbers.size(); ++i)
    if (numbers[i] - of(i) != difference) return std::nullopt;
  return difference;
}

}  // namespace

void ExpressionFit::add_candidate(Expression e) {
  if (is_constant_expression(e)) return;
  if (std::ranges::any_of(candidates_, [&](const Candidate& known) { return known.expression == e; })) return;
  Candidate made{e, {}};
  for (const std::vector<int64_t>& sample : samples_) {
    const std::optional<int64_t> value = evaluate(e, sample);
    if (!value) return;
    made.values.push_back(*value);
  }
  candidates_.push_back(std::move(made));
}

bool ExpressionFit::fits(Expression e, const std::vector<int64_t>& numbers) const {
  for (size_t i = 0; i < numbers.size(); ++i)
    if (evaluate(e, samples_[i]) != numbers[i]) return false;
  return true;
}

// a * x + b
std::optional<Expression> ExpressionFit::linear(const Candidate& of, const std::vector<int64_t>& numbers) const {
  const std::vector<int64_t>& x = of.values;
  for (size_t i = 1; i < x.size(); ++i) {
    if (x[i] == x[0]) continue;
    if ((numbers[i] - numbers[0]) % (x[i] - x[0])) return std::nullopt;
    const int64_t factor = (numbers[i] - numbers[0]) / (x[i] - x[0]);
    const Expression e = constant(factor) * of.expression + constant(numbers[0] - factor * x[0]);
    return fits(e, numbers) ? std::optional(e) : std::nullopt;
  }
  return std::nullopt;
}

// (x + b) // k: what strides, windows and halves do to sizes.
std::optional<Expression> ExpressionFit::rounded(const Candidate& of, const std::vector<int64_t>& numbers) const {
  const auto [least, most] = std::ranges::minmax_element(of.values);
  const size_t low = least - of.values.begin(), high = most - of.values.begin();
  const int64_t rise = numbers[high] - numbers[low];
  if (rise <= 0) return std::nullopt;
  const int64_t about = (*most - *least) / rise;
  for (int64_t k = std::max<int64_t>(2, about - 1); k <= std::min(kLargestDivisor, about + 1); ++k) {
    // numbers[i] * k <= x[i] + b < numbers[i] * k + k for all i
    int64_t lowest = INT64_MIN, highest = INT64_MAX;
    for (size_t i = 0; i < numbers.size(); ++i) {
      lowest = std::max(lowest, numbers[i] * k - of.values[i]);
      highest = std::min(highest, numbers[i] * k + k - 1 - of.values[i]);
    }
    // One that the samples leave a choice for is not known.
    if (lowest != highest) continue;
    const Expression e = floor_divide(of.expression + constant(lowest), constant(k));
    if (fits(e, numbers)) return e;
  }
  return std::nullopt;
}

// min(x, c), max(x, c)
std::optional<Expression> ExpressionFit::bounded(const Candidate& of, const std::vector<int64_t>& numbers) const {
  const auto [least, most] = std::ranges::minmax_element(numbers);
  for (const Expression e : {minimum(of.expression, constant(*most)), maximum(of.expression, constant(*least))})
    if (fits(e, numbers)) return e;
  return std::nullopt;
}

std::optional<Expression> ExpressionFit::of_two(const Candidate& a, const Candidate& b,
                                                const std::vector<int64_t>& numbers) const {
  auto plus = [](Expression e, int64_t difference) { return e + constant(difference); };
  if (auto rest = constant_difference(numbers, [&](size_t i) { return a.values[i] * b.values[i]; }))
    return plus(a.expression * b.expression, *rest);
  if (auto rest = constant_difference(numbers, [&](size_t i) { return a.values[i] + b.values[i]; }))
    return plus(a.expression + b.expression, *rest);
  if (auto rest = constant_difference(numbers, [&](size_t i) { return a.values[i] - b.values[i]; }))
    return plus(a.expression - b.expression, *rest);
  if (auto rest = constant_difference(numbers, [&](size_t i) { return b.values[i] - a.values[i]; }))
    return plus(b.expression - a.expression, *rest);
  for (const auto& [one, other] : {std::pair(&a, &b), std::pair(&b, &a)}) {
    const bool divides = std::ranges::all_of(other->values, [](int64_t v) { return v > 0; });
    if (!divides) continue;
    const Expression e = floor_divide(one->expression, other->expression);
    if (fits(e, numbers)) return e;
  }
  for (const Expression e : {minimum(a.expression, b.expression), maximum(a.expression, b.expression)})
    if (fits(e, numbers)) return e;
  return std::nullopt;
}

std::optional<Expression> ExpressionFit::find(const std::vector<int64_t>& numbers) const {
  if (all_equal(numbers)) return constant(numbers.front());
  for (const Candidate& candidate : candidates_)
    if (candidate.values == numbers) return candidate.expression;
  for (const Candidate& candidate : candidates_)
    if (auto e = linear(candidate, numbers)) return e;
  for (size_t i = 0; i < candidates_.size(); ++i)
    for (size_t k = 0; k <= i; ++k)
      if (auto e = of_two(candidates_[k], candidates_[i], numbers)) return e;
  for (const Candidate& candidate : candidates_)
    if (auto e = rounded(candidate, numbers)) return e;
  for (const Candidate& candidate : candidates_)
    if (auto e = bounded(candidate, numbers)) return e;
  return std::nullopt;
}

}  // namespace minidynamo
