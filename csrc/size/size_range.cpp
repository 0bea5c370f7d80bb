// Finds the range of an expression from the ranges of its symbols, by interval arithmetic and refinements that make it
// narrower.
#include <algorithm>
#include <cmath>
#include <limits>

#include "size/polynomial.h"

namespace minidynamo {

namespace {

using namespace polynomial;

// Ends beyond 64 bits are cut to the weaker bound: an end that is no bound is kInfinite or its negative.
using Wide = __int128;
constexpr Wide kInfinite = Wide{1} << 100;
struct Interval {
  Wide lower = -kInfinite, upper = kInfinite;
};

Interval weakened(Wide lower, Wide upper) {
  return {lower < INT64_MIN ? -kInfinite : std::min(lower, Wide{INT64_MAX}),
          upper > INT64_MAX ? kInfinite : std::max(upper, Wide{INT64_MIN})};
}
Wide wide_product(Wide a, Wide b) {
  if (a == 0 || b == 0) return 0;
  const bool finite = a > -kInfinite && a < kInfinite && b > -kInfinite && b < kInfinite;
  return finite ? a * b : (a < 0) == (b < 0) ? kInfinite : -kInfinite;
}
Wide wide_quotient(Wide a, Wide b) {  // rounds down; b is not 0
  const bool same_sign = (a < 0) == (b < 0);
  if (b == kInfinite || b == -kInfinite) return a == 0 || same_sign ? 0 : -1;
  if (a == kInfinite || a == -kInfinite) return same_sign ? kInfinite : -kInfinite;
  return a / b - (a % b != 0 && !same_sign);
}
Interval of_corners(Interval a, Interval b, Wide (*function)(Wide, Wide)) {
  const auto [least, most] = std::minmax(
      {function(a.lower, b.lower), function(a.lower, b.upper), function(a.upper, b.lower), function(a.upper, b.upper)});
  return weakened(least, most);
}
Interval added(Interval a, Interval b) {
  const bool open_below = a.lower == -kInfinite || b.lower == -kInfinite;
  const bool open_above = a.upper == kInfinite || b.upper == kInfinite;
  return weakened(open_below ? -kInfinite : a.lower + b.lower, open_above ? kInfinite : a.upper + b.upper);
}
Interval multiplied(Interval a, Interval b) { return of_corners(a, b, wide_product); }
Interval hull(Interval a, Interval b) { return {std::min(a.lower, b.lower), std::max(a.upper, b.upper)}; }

// By a divisor of one sign.
Interval divided(Kind kind, Interval a, Interval b) {
  if (kind == Kind::FloorDivide) return of_corners(a, b, wide_quotient);
  if (b.lower > 0) {
    if (a.lower >= 0 && a.upper < b.lower) return a;
    const Wide most = b.upper == kInfinite ? kInfinite : b.upper - 1;
    return {0, a.lower >= 0 ? std::min(most, a.upper) : most};
  }
  if (a.upper <= 0 && a.lower > b.upper) return a;
  const Wide least = b.lower == -kInfinite ? -kInfinite : b.lower + 1;
  return {a.upper <= 0 ? std::max(least, a.lower) : least, 0};
}

Interval interval_of(const Polynomial& p, std::span<const SizeRange> ranges);

struct FloatInterval {
  double lower = -std::numeric_limits<double>::infinity(), upper = std::numeric_limits<double>::infinity();
};

// Rounding keeps the order, so the ends of a result are among the results of the ends.
FloatInterval float_interval(const Atom* atom, std::span<const SizeRange> ranges) {
  if (atom->kind == Kind::FloatConstant) {
    const double value = float_of_bits(atom->number);
    return std::isnan(value) ? FloatInterval() : FloatInterval{value, value};
  }
  if (atom->kind == Kind::FloatOf) {
    const Interval of = interval_of(atom->left->terms, ranges);
    FloatInterval result;
    if (of.lower != -kInfinite) result.lower = static_cast<double>(of.lower);
    if (of.upper != kInfinite) result.upper = static_cast<double>(of.upper);
    return result;
  }
  const auto operand = [&](const Node* node) { return float_interval(node->terms[0].atoms[0], ranges); };
  const FloatInterval a = operand(atom->left);
  if (atom->kind == Kind::SquareRoot) return {std::sqrt(std::max(a.lower, 0.0)), std::sqrt(std::max(a.upper, 0.0))};
  const FloatInterval b = operand(atom->right);
  if (atom->kind == Kind::Power) return {0, FloatInterval().upper};  // a negative has none
  if (atom->kind == Kind::FloatDivide && b.lower <= 0 && b.upper >= 0) return {};
  FloatInterval result = {result.upper, result.lower};
  for (const double x : {a.lower, a.upper}) {
    for (const double y : {b.lower, b.upper}) {
      const double value = float_of_bits(*applied_to_floats(atom->kind, x, y));
      if (std::isnan(value)) return {};
      result = {std::min(result.lower, value), std::max(result.upper, value)};
    }
  }
  return result;
}

// An integer made of floats.
Interval of_floats(const Atom* atom, std::span<const SizeRange> ranges) {
  if (is_float_step(atom->kind)) return {};  // bits
  if (atom->kind == Kind::Order) return {-1, 2};
  const FloatInterval of = float_interval(atom->left->terms[0].atoms[0], ranges);
  const auto end = [&](double value, Wide otherwise) {
    const auto rounded = applied(atom->kind, bits_of(value));
    return rounded ? Wide{*rounded} : otherwise;
  };
  return {end(of.lower, -kInfinite), end(of.upper, kInfinite)};
}

Interval interval_of(const Atom* atom, std::span<const SizeRange> ranges) {
  if (atom->kind == Kind::Symbol) {
    if (static_cast<size_t>(atom->number) >= ranges.size()) return {};
    const auto [lower, upper] = ranges[static_cast<size_t>(atom->number)];
    return {lower == INT64_MIN ? -kInfinite : lower, upper == INT64_MAX ? kInfinite : upper};
  }
  if (atom->kind >= Kind::FloatConstant) return of_floats(atom, ranges);
  const Interval a = interval_of(atom->left->terms, ranges), b = interval_of(atom->right->terms, ranges);
  if (atom->kind == Kind::Minimum) return {std::min(a.lower, b.lower), std::min(a.upper, b.upper)};
  if (atom->kind == Kind::Maximum) return {std::max(a.lower, b.lower), std::max(a.upper, b.upper)};
  // The divisor is not 0: there is no value where it is.
  const Interval above{std::max(b.lower, Wide{1}), b.upper}, below{b.lower, std::min(b.upper, Wide{-1})};
  if (b.lower >= 0) return b.upper > 0 ? divided(atom->kind, a, above) : Interval();
  if (b.upper <= 0) return divided(atom->kind, a, below);
  return hull(divided(atom->kind, a, above), divided(atom->kind, a, below));
}

Interval interval_of(const Monomial& atoms, std::span<const SizeRange> ranges) {
  Interval result{1, 1};
  for (size_t i = 0; i < atoms.size();) {
    const Interval base = interval_of(atoms[i], ranges);
    Interval power = base;
    size_t exponent = 1;
    for (const Atom* atom = atoms[i++]; i < atoms.size() && atoms[i] == atom; ++i, ++exponent) {
      power = multiplied(power, base);
      if (exponent % 2 == 1) power.lower = std::max(power.lower, Wide{0});  // a square
    }
    result = multiplied(result, power);
  }
  return result;
}

Interval interval_of(const Polynomial& p, std::span<const SizeRange> ranges) {
  Interval result{0, 0};
  for (const auto& [atoms, coefficient] : p) {
    result = added(result, multiplied({coefficient, coefficient}, interval_of(atoms, ranges)));
  }
  return result;
}

// The bounds of an atom, as expressions that are simpler: least / scale <= atom <= most / scale.
struct AtomBounds {
  int64_t scale = 1;
  std::vector<Expression> least, most;
  bool is_one_of_them = false;  // min, max: it is one of these
};
AtomBounds bounds_of(const Atom* atom, std::span<const SizeRange> ranges) {
  if (atom->kind >= Kind::FloatConstant) return {};
  const Expression a = of_node(atom->left), b = of_node(atom->right);
  if (atom->kind == Kind::Minimum) return {1, {}, {a, b}, true};
  if (atom->kind == Kind::Maximum) return {1, {a, b}, {}, true};
  const auto k = constant_of(atom->right->terms);
  if (atom->kind == Kind::FloorDivide && k && *k > 0) return {*k, {a - constant(*k - 1)}, {a}};
  if (interval_of(atom->right->terms, ranges).lower < 0) return {};
  const bool dividend_is_natural = interval_of(atom->left->terms, ranges).lower >= 0;
  AtomBounds result;
  if (dividend_is_natural) result.most.push_back(a);
  if (atom->kind == Kind::Modulo && !k) result.most.push_back(b - constant(1));
  return result;
}

// `p` times `scale`, where the terms with the atom become at least (or at most) what they are when the atom's place,
// times `scale`, is taken by `low` (or `high`). nullopt if the sign of what the atom is multiplied by is not known.
std::optional<Expression> bounded(const Polynomial& p, const Atom* atom, int64_t scale, Expression low, Expression high,
                                  std::span<const SizeRange> ranges) {
  Expression result;
  for (const Term& term : p) {
    const auto place = std::find(term.atoms.begin(), term.atoms.end(), atom);
    if (place == term.atoms.end()) {
      result = result + constant(scale) * table().intern({term});
      continue;
    }
    Monomial others = term.atoms;
    others.erase(others.begin() + (place - term.atoms.begin()));
    const Interval sign = interval_of(others, ranges);
    if (low != high && sign.lower < 0 && sign.upper > 0) return std::nullopt;
    const bool positive = (sign.lower >= 0) == (term.coefficient > 0);
    result = result + table().intern({{std::move(others), term.coefficient}}) * (positive ? high : low);
  }
  return result;
}

Interval narrow_interval(const Polynomial& p, std::span<const SizeRange> ranges, int depth);

// Narrower through what the atom stands for.
Interval narrowed_by(const Polynomial& p, const Atom* atom, std::span<const SizeRange> ranges, int depth) {
  Interval result;
  const AtomBounds bounds = bounds_of(atom, ranges);
  const auto interval = [&](Expression e) { return narrow_interval(terms_of(e), ranges, depth - 1); };
  // For one end of a term, the atom is at one of its own ends, or the range of it is all that is known.
  const Interval plain = interval_of(atom, ranges);
  std::vector<Expression> least = bounds.least, most = bounds.most;
  const auto scaled = [&](Wide end) { return constant(checked_multiply(static_cast<int64_t>(end), bounds.scale)); };
  const size_t symbolic_least = least.size();
  if (plain.lower != -kInfinite) least.push_back(scaled(plain.lower));
  const size_t symbolic_most = most.size();
  if (plain.upper != kInfinite) most.push_back(scaled(plain.upper));
  for (size_t i = 0; i < least.size(); ++i) {
    for (size_t j = 0; j < most.size(); ++j) {
      if (i >= symbolic_least && j >= symbolic_most) continue;  // that is what interval_of does
      if (const auto e = bounded(p, atom, bounds.scale, least[i], most[j], ranges)) {
        if (const Wide upper = interval(*e).upper; upper != kInfinite) {
          result.upper = std::min(result.upper, wide_quotient(upper, bounds.scale));
        }
      }
      if (const auto e = bounded(p, atom, bounds.scale, most[j], least[i], ranges)) {
        if (const Wide lower = interval(*e).lower; lower != -kInfinite) {
          result.lower = std::max(result.lower, -wide_quotient(-lower, bounds.scale));
        }
      }
    }
  }
  // Without an end on the other side, a term that needs only this one may still be bounded.
  const auto one_sided = [&](Expression bound, bool is_upper) {
    for (const Term& term : p) {
      if (std::find(term.atoms.begin(), term.atoms.end(), atom) == term.atoms.end()) continue;
      if (term.atoms.size() != 1) return;
      const auto e = bounded(p, atom, bounds.scale, bound, bound, ranges);
      if ((term.coefficient > 0) == is_upper) {
        if (const Wide upper = interval(*e).upper; upper != kInfinite) {
          result.upper = std::min(result.upper, wide_quotient(upper, bounds.scale));
        }
      } else if (const Wide lower = interval(*e).lower; lower != -kInfinite) {
        result.lower = std::max(result.lower, -wide_quotient(-lower, bounds.scale));
      }
    }
  };
  if (least.empty()) std::for_each(most.begin(), most.end(), [&](Expression e) { one_sided(e, true); });
  if (most.empty()) std::for_each(least.begin(), least.end(), [&](Expression e) { one_sided(e, false); });
  if (bounds.is_one_of_them) {
    const Expression a = of_node(atom->left), b = of_node(atom->right);
    const Interval either =
        hull(interval(*bounded(p, atom, 1, a, a, ranges)), interval(*bounded(p, atom, 1, b, b, ranges)));
    result = {std::max(result.lower, either.lower), std::min(result.upper, either.upper)};
  }
  return result;
}

// The symbols counted from their lower ends: s*t - s is plainly positive as (2 + s)*(2 + t) - (2 + s).
Interval shifted_interval(const Polynomial& p, std::span<const SizeRange> ranges) {
  std::vector<SizeRange> shifted(ranges.begin(), ranges.end());
  for (SizeRange& range : shifted) {
    if (range.lower == INT64_MIN) continue;
    if (range.upper != INT64_MAX) range.upper = folded(Kind::Subtract, range.upper, range.lower);
    range.lower = 0;
  }
  Polynomial result;
  for (const auto& [atoms, coefficient] : p) {
    Polynomial term{{{}, coefficient}};
    for (const Atom* atom : atoms) {
      const auto number = static_cast<size_t>(atom->number);
      Polynomial factor{{{atom}, 1}};
      if (number < ranges.size() && ranges[number].lower != INT64_MIN && ranges[number].lower != 0) {
        factor.push_back({{}, ranges[number].lower});
      }
      term = product(term, factor);
    }
    result = sum(result, term, 1);
  }
  return interval_of(result, shifted);
}

Interval narrow_interval(const Polynomial& p, std::span<const SizeRange> ranges, int depth) {
  Interval result = interval_of(p, ranges);
  const auto narrow = [&](Interval other) {
    result = {std::max(result.lower, other.lower), std::min(result.upper, other.upper)};
  };
  if (depth == 0 || p.size() < 2) return result;
  std::vector<const Atom*> opaque;
  bool has_products = false;
  for (const Term& term : p) {
    has_products |= term.atoms.size() > 1;
    for (const Atom* atom : term.atoms) {
      if (atom->kind != Kind::Symbol && std::find(opaque.begin(), opaque.end(), atom) == opaque.end()) {
        opaque.push_back(atom);
      }
    }
  }
  for (const Atom* atom : opaque) {
    try {
      narrow(narrowed_by(p, atom, ranges, depth));
    } catch (const SizeOverflow&) {
      // Nothing is learnt from it.
    }
  }
  if (opaque.empty() && has_products) {
    try {
      narrow(shifted_interval(p, ranges));
    } catch (const SizeOverflow&) {
    }
  }
  return result;
}

std::optional<bool> decided(SizeRelation relation, const Polynomial& p, Interval range) {
  switch (relation) {
    case SizeRelation::Equal:
      if (range.lower > 0 || range.upper < 0) return false;
      if (range.lower == 0 && range.upper == 0) return true;
      if (const uint64_t step = content(p); step != 0 && magnitude(constant_part(p)) % step != 0) return false;
      return std::nullopt;
    case SizeRelation::NotEqual:
      if (const auto equal = decided(SizeRelation::Equal, p, range)) return !*equal;
      return std::nullopt;
    case SizeRelation::Less:
      if (range.upper < 0) return true;
      if (range.lower >= 0) return false;
      return std::nullopt;
    case SizeRelation::LessEqual:
      if (range.upper <= 0) return true;
      if (range.lower > 0) return false;
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

SizeRange range_of(Expression e, std::span<const SizeRange> ranges) {
  const Interval range = interval_of(terms_of(e), ranges);
  return {range.lower < INT64_MIN ? INT64_MIN : static_cast<int64_t>(range.lower),
          range.upper > INT64_MAX ? INT64_MAX : static_cast<int64_t>(range.upper)};
}

std::optional<bool> decide(SizeCondition condition, std::span<const SizeRange> ranges) {
  const Polynomial& p = terms_of(condition.expression);
  if (const auto known = decided(condition.relation, p, interval_of(p, ranges))) return known;
  return decided(condition.relation, p, narrow_interval(p, ranges, 2));
}

}  // namespace minidynamo
