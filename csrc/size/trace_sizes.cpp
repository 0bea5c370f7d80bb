#include "size/trace_sizes.h"

#include <algorithm>
#include <stdexcept>

#include "python/process/trace_aborted.h"

namespace minidynamo {

namespace {

bool is_point(SizeRange range) noexcept { return range.lower == range.upper; }

SizeCondition with_expression(SizeRelation relation, Expression e) {
  switch (relation) {
    case SizeRelation::Equal:
      return is_equal(e, {});
    case SizeRelation::NotEqual:
      return is_equal(e, {}).negated();
    case SizeRelation::Less:
      return is_less(e, {});
    case SizeRelation::LessEqual:
      break;
  }
  return is_less_equal(e, {});
}

// Which values of a symbol a condition on it alone leaves.
SizeRange narrowed(SizeRange range, SizeCondition condition, Expression symbol) {
  const auto above = constant_value(condition.expression - symbol);  // the expression is the symbol and this
  const auto below = constant_value(condition.expression + symbol);  // or this less the symbol
  if (!above && !below) return range;
  int64_t bound = 0;
  if (above ? __builtin_sub_overflow(int64_t{0}, *above, &bound) : (bound = *below, false)) return range;
  switch (condition.relation) {
    case SizeRelation::Equal:
      return {bound, bound};
    case SizeRelation::NotEqual:
      if (is_point(range)) return range;
      if (bound == range.lower && bound != INT64_MIN) ++range.lower;
      if (bound == range.upper && bound != INT64_MAX) --range.upper;
      return range;
    case SizeRelation::LessEqual:
      if (above) {
        range.upper = std::min(range.upper, bound);
      } else {
        range.lower = std::max(range.lower, bound);
      }
      return range;
    case SizeRelation::Less:
      break;  // no condition that was made by is_less is one
  }
  return range;
}

}  // namespace

Expression TraceSizes::add_symbol(int64_t value, SizeRange range, std::string name) {
  if (value < range.lower || value > range.upper) throw std::invalid_argument("a size that is out of its own range");
  values_.push_back(value);
  ranges_.push_back(range);
  declared_.push_back(range);
  names_.push_back(std::move(name));
  unknown_.push_back(false);
  points_ += is_point(range);
  return symbol(static_cast<int32_t>(values_.size() - 1));
}

Expression TraceSizes::add_unknown(int64_t example, SizeRange range, std::string name) {
  const Expression added = add_symbol(example, range, std::move(name));
  unknown_.back() = true;
  ++unknown_count_;
  return added;
}

bool TraceSizes::is_unknown(Expression e) const {
  if (unknown_count_ == 0 || is_constant_expression(e)) return false;
  const std::vector<int32_t> symbols = symbols_of(e);
  return std::ranges::any_of(symbols, [&](int32_t number) { return unknown_[static_cast<size_t>(number)]; });
}

uint64_t TraceSizes::unknown_symbols() const noexcept {
  if (unknown_count_ == 0) return 0;
  uint64_t symbols = 1;
  for (const bool is_unknown : unknown_) symbols = symbols * 2654435761u + (is_unknown ? 3 : 2);
  return symbols | 1;
}

void TraceSizes::refuse_to_tell(SizeCondition condition) const {
  if (refuse) refuse(condition);
  throw TraceAborted();
}

int64_t TraceSizes::value_of(Expression e) const {
  if (const auto value = evaluate(e, values_)) return *value;
  throw SizeOverflow();
}

double TraceSizes::value_of(FloatExpression e) const {
  if (const auto value = evaluate(e, values_)) return *value;
  throw SizeOverflow();
}

Expression TraceSizes::simplify(Expression e) const {
  if (points_ == 0) return e;
  const auto occurring = symbols_of(e);
  if (std::none_of(occurring.begin(), occurring.end(),
                   [&](int32_t number) { return is_point(ranges_.at(static_cast<size_t>(number))); })) {
    return e;
  }
  std::vector<Expression> stack;
  for (const auto& [kind, operand] : steps_of(e)) {
    if (kind == SizeStep::Kind::Symbol) {
      const SizeRange range = ranges_[static_cast<size_t>(operand)];
      stack.push_back(is_point(range) ? constant(range.lower) : symbol(static_cast<int32_t>(operand)));
      continue;
    }
    Expression taken[2];
    for (int i = operands_of(kind); i > 0; stack.pop_back()) taken[--i + 2 - operands_of(kind)] = stack.back();
    stack.push_back(result_of({kind, operand}, taken[0], taken[1]));
  }
  return stack.back();
}

std::optional<bool> TraceSizes::known(SizeCondition condition) const {
  if (const Expression reduced = simplify(condition.expression);
      reduced != condition.expression || condition.relation == SizeRelation::Less) {
    // The recorded condition may have had this very form before the symbols were known.
    if (const auto answer = answers_.find(condition); answer != answers_.end()) return answer->second;
    condition = with_expression(condition.relation, reduced);
  }
  if (const auto decided = decide(condition, ranges_)) return decided;
  if (const auto answer = answers_.find(condition); answer != answers_.end()) return answer->second;
  return std::nullopt;
}

bool TraceSizes::ask(SizeCondition condition) {
  if (const auto answer = known(condition)) return *answer;
  if (is_unknown(simplify(condition.expression))) refuse_to_tell(condition);
  const bool now = holds(condition.relation, value_of(condition.expression));
  SizeCondition asked = with_expression(condition.relation, simplify(condition.expression));
  if (!now) asked = asked.negated();
  const uint32_t cause = note_cause ? note_cause() : 0;
  asked_.push_back({asked, cause});
  learn(asked);
  return now;
}

bool TraceSizes::suppose(SizeCondition condition) {
  if (const auto answer = known(condition)) return *answer;
  if (!is_unknown(simplify(condition.expression))) return ask(condition);
  if (!check || !check(condition)) refuse_to_tell(condition);
  add_fact(condition);
  return true;
}

void TraceSizes::add_fact(SizeCondition condition) {
  SizeCondition fact = with_expression(condition.relation, simplify(condition.expression));
  facts_.push_back(fact);
  learn(fact);
}

int64_t TraceSizes::specialize(Expression e) {
  const Expression reduced = simplify(e);
  if (is_unknown(reduced)) refuse_to_tell(is_equal(reduced, constant(value_of(reduced))));
  const int64_t value = value_of(e);
  if (!is_constant_expression(reduced)) ask(is_equal(reduced, constant(value)));
  return value;
}

double TraceSizes::specialize(FloatExpression e) {
  const double value = value_of(e);
  for (const int32_t number : symbols_of(e.bits)) specialize(symbol(number));
  return value;
}

bool TraceSizes::has_value(FloatExpression e) const { return evaluate(e, values_).has_value(); }

// True if no symbol in it is an int of the program's: sizes are smaller than 2**52.
bool TraceSizes::is_of_dimensions(Expression e) const {
  return std::ranges::all_of(symbols_of(e),
                             [&](int32_t number) { return declared_[static_cast<size_t>(number)].lower >= 0; });
}

std::optional<FloatExpression> TraceSizes::divide(FloatExpression a, FloatExpression b) {
  if (!has_value(a) || !has_value(b) || ask(is_equal(b, float_constant(0)))) return std::nullopt;
  return a / b;
}

// Asked of the program's own ints.
bool TraceSizes::is_exact_float(Expression e) {
  constexpr int64_t kLargest = int64_t{1} << 53;
  return is_of_dimensions(e) ? evaluate(float_of(e), values_).has_value()
                             : ask(is_less_equal(e, constant(kLargest))) && ask(is_less_equal(constant(-kLargest), e));
}

std::optional<FloatExpression> TraceSizes::divide(Expression a, Expression b) {
  if (!is_exact_float(a) || !is_exact_float(b)) return std::nullopt;
  return divide(float_of(a), float_of(b));
}

std::optional<FloatExpression> TraceSizes::raise(FloatExpression base, FloatExpression exponent) {
  if (!has_value(base) || !has_value(exponent) || !ask(is_less(float_constant(0), base))) return std::nullopt;
  const FloatExpression result = power(base, exponent);
  return has_value(result) ? std::optional(result) : std::nullopt;
}

std::optional<FloatExpression> TraceSizes::root(FloatExpression a) {
  if (!has_value(a) || !ask(is_less_equal(float_constant(0), a))) return std::nullopt;
  return square_root(a);
}

std::optional<Expression> TraceSizes::round(Rounding how, FloatExpression a) const {
  if (!evaluate(rounded(how, a), values_)) return std::nullopt;
  if (const auto ratio = ratio_of(a); ratio && how != Rounding::Nearest) {
    const auto& [numerator, denominator] = *ratio;
    const bool is_exact = is_of_dimensions(numerator) && is_of_dimensions(denominator) &&
                          known(is_less(constant(0), denominator)) == true;
    if (is_exact && how == Rounding::Ceiling) return floor_divide(numerator + denominator - constant(1), denominator);
    if (is_exact && (how == Rounding::Floor || known(is_less_equal(constant(0), numerator)) == true))
      return floor_divide(numerator, denominator);
  }
  return rounded(how, a);
}

void TraceSizes::learn(SizeCondition condition) {
  const auto note = [&](SizeCondition known) {
    answers_.insert_or_assign(known, true);
    answers_.insert_or_assign(known.negated(), false);
  };
  try {
    note(condition);
    // Its consequences for the other relations of the same expression.
    if (condition.relation == SizeRelation::Equal) {
      note(is_less_equal(condition.expression, {}));
      note(is_less_equal({}, condition.expression));
    } else if (condition.relation == SizeRelation::LessEqual) {
      const Expression less = condition.expression - constant(1);  // is less than 0
      note(is_less_equal(less, {}));
      note(is_equal(less, {}).negated());
    }
  } catch (const SizeOverflow&) {
    // It is known less well.
  }
  // A symbol that becomes a number may leave an earlier condition with one symbol.
  const auto narrow = [&](SizeCondition known) {
    const auto symbols = symbols_of(known.expression);
    if (symbols.size() != 1) return;
    SizeRange& range = ranges_[static_cast<size_t>(symbols[0])];
    const bool was_point = is_point(range);
    range = narrowed(range, known, symbol(symbols[0]));
    points_ += is_point(range) && !was_point;
  };
  try {
    narrow(condition);
    for (size_t before = SIZE_MAX; before != points_ && points_ != 0;) {
      before = points_;
      const auto narrow_again = [&](SizeCondition earlier) {
        const Expression reduced = simplify(earlier.expression);
        if (reduced != earlier.expression) narrow(with_expression(earlier.relation, reduced));
      };
      for (const Asked& earlier : asked_) narrow_again(earlier.condition);
      for (const SizeCondition& earlier : facts_) narrow_again(earlier);
    }
  } catch (const SizeOverflow&) {
  }
}

std::vector<TraceSizes::Asked> TraceSizes::take_since(size_t mark) {
  if (mark >= asked_.size()) return {};
  const auto first = asked_.begin() + static_cast<std::ptrdiff_t>(mark);
  std::vector<Asked> taken(first, asked_.end());
  asked_.erase(first, asked_.end());
  answers_.clear();
  ranges_ = declared_;
  points_ = static_cast<size_t>(std::count_if(ranges_.begin(), ranges_.end(), is_point));
  for (const Asked& asked : asked_) learn(asked.condition);
  for (const SizeCondition& fact : facts_) learn(fact);
  return taken;
}

}  // namespace minidynamo
