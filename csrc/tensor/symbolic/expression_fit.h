// Searches, among simple ones, the expression that has given values at given values of the symbols.
#pragma once
#include <optional>
#include <vector>

#include "size/expression.h"

namespace minidynamo {

class ExpressionFit {
 public:
  // `samples`: values of all symbols, one list for each place where the numbers are known.
  explicit ExpressionFit(std::vector<std::vector<int64_t>> samples) : samples_(std::move(samples)) {}

  size_t sample_count() const noexcept { return samples_.size(); }
  // Adds an expression that the result may be made of. Constants, and what cannot be computed everywhere, are of no use
  // and left out.
  void add_candidate(Expression e);
  // nullopt: none of a constant, a candidate, a linear function of one (rounded down, or with a bound), a product, sum,
  // difference or quotient of two.
  std::optional<Expression> find(const std::vector<int64_t>& numbers) const;

 private:
  struct Candidate {
    Expression expression;
    std::vector<int64_t> values;
  };
  std::vector<std::vector<int64_t>> samples_;
  std::vector<Candidate> candidates_;

  bool fits(Expression e, const std::vector<int64_t>& numbers) const;
  std::optional<Expression> linear(const Candidate& of, const std::vector<int64_t>& numbers) const;
  std::optional<Expression> rounded(const Candidate& of, const std::vector<int64_t>& numbers) const;
  std::optional<Expression> bounded(const Candidate& of, const std::vector<int64_t>& numbers) const;
  std::optional<Expression> of_two(const Candidate& a, const Candidate& b, const std::vector<int64_t>& numbers) const;
};

}  // namespace minidynamo
