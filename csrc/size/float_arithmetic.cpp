// Float expressions: what Python computes of integers in floats, and the integers and conditions that are made of them.
#include <cmath>

#include "size/polynomial.h"

namespace minidynamo {

namespace {

using namespace polynomial;

constexpr int64_t kExact = int64_t{1} << 53;

// The one atom of a float expression.
const Atom* atom_of(FloatExpression e) { return terms_of(e.bits)[0].atoms[0]; }

std::optional<double> power_of(double base, double exponent) {
  if (base < 0 || (base == 0 && exponent < 0)) return std::nullopt;
  const double result = std::pow(base, exponent);
  if (std::isinf(result) && std::isfinite(base) && std::isfinite(exponent)) return std::nullopt;
  return result;
}

std::optional<int64_t> as_integer(double value) {
  if (!(std::abs(value) < 0x1p63)) return std::nullopt;
  return static_cast<int64_t>(value);
}

FloatExpression operation(Kind kind, FloatExpression a, FloatExpression b) {
  const auto x = constant_value(a), y = constant_value(b);
  if (x && y)
    if (const auto value = applied(kind, bits_of(*x), bits_of(*y))) return float_constant(float_of_bits(*value));
  return {table().atom(kind, a.bits, b.bits)};
}

// The integer that a float is made of; nullopt: it is none.
std::optional<Expression> integer_of(FloatExpression e) {
  const Atom* atom = atom_of(e);
  if (atom->kind == Kind::FloatOf) return of_node(atom->left);
  if (atom->kind != Kind::FloatConstant) return std::nullopt;
  const double value = float_of_bits(atom->number);
  if (std::abs(value) > kExact || value != std::trunc(value)) return std::nullopt;
  return constant(static_cast<int64_t>(value));
}

}  // namespace

namespace polynomial {

Expression order_of(FloatExpression a, FloatExpression b) {
  const auto x = constant_value(a), y = constant_value(b);
  if (x && y) return constant(*applied_to_floats(Kind::Order, *x, *y));
  return table().atom(Kind::Order, a.bits, b.bits);
}

std::optional<int64_t> applied_to_floats(Kind kind, double x, double y) noexcept {
  switch (kind) {
    case Kind::FloatAdd:
      return bits_of(x + y);
    case Kind::FloatSubtract:
      return bits_of(x - y);
    case Kind::FloatMultiply:
      return bits_of(x * y);
    case Kind::FloatDivide:
      if (y == 0) return std::nullopt;
      return bits_of(x / y);
    case Kind::Power:
      if (const auto result = power_of(x, y)) return bits_of(*result);
      return std::nullopt;
    default:  // Order
      return x < y ? -1 : x == y ? 0 : x > y ? 1 : 2;
  }
}

std::optional<int64_t> applied(Kind kind, int64_t x) noexcept {
  const double value = float_of_bits(x);
  switch (kind) {
    case Kind::FloatOf:
      if (x > kExact || x < -kExact) return std::nullopt;
      return bits_of(static_cast<double>(x));
    case Kind::SquareRoot:
      if (value < 0) return std::nullopt;
      return bits_of(std::sqrt(value));
    case Kind::Floor:
      return as_integer(std::floor(value));
    case Kind::Ceiling:
      return as_integer(std::ceil(value));
    case Kind::Truncate:
      return as_integer(std::trunc(value));
    default:  // Nearest
      return as_integer(std::nearbyint(value));
  }
}

}  // namespace polynomial

FloatExpression float_constant(double value) { return {table().float_constant(value)}; }

FloatExpression float_of(Expression e) {
  if (const auto value = constant_value(e))
    if (const auto bits = applied(Kind::FloatOf, *value)) return float_constant(float_of_bits(*bits));
  return {table().atom(Kind::FloatOf, e)};
}

FloatExpression operator+(FloatExpression a, FloatExpression b) { return operation(Kind::FloatAdd, a, b); }
FloatExpression operator-(FloatExpression a, FloatExpression b) { return operation(Kind::FloatSubtract, a, b); }
FloatExpression operator*(FloatExpression a, FloatExpression b) { return operation(Kind::FloatMultiply, a, b); }
FloatExpression operator/(FloatExpression a, FloatExpression b) { return operation(Kind::FloatDivide, a, b); }
FloatExpression power(FloatExpression base, FloatExpression exponent) { return operation(Kind::Power, base, exponent); }

FloatExpression square_root(FloatExpression a) {
  if (const auto value = constant_value(a))
    if (const auto bits = applied(Kind::SquareRoot, bits_of(*value))) return float_constant(float_of_bits(*bits));
  return {table().atom(Kind::SquareRoot, a.bits)};
}

Expression rounded(Rounding how, FloatExpression a) {
  static constexpr Kind kinds[] = {Kind::Floor, Kind::Ceiling, Kind::Truncate, Kind::Nearest};
  const Kind kind = kinds[static_cast<size_t>(how)];
  if (const auto integer = integer_of(a)) return *integer;
  if (const auto value = constant_value(a))
    if (const auto result = applied(kind, bits_of(*value))) return constant(*result);
  return table().atom(kind, a.bits);
}

std::optional<double> constant_value(FloatExpression e) noexcept {
  const Atom* atom = atom_of(e);
  return atom->kind == Kind::FloatConstant ? std::optional(float_of_bits(atom->number)) : std::nullopt;
}

bool is_float_expression(Expression e) noexcept {
  const Polynomial& p = terms_of(e);
  return p.size() == 1 && p[0].coefficient == 1 && p[0].atoms.size() == 1 && is_float_step(p[0].atoms[0]->kind);
}

std::optional<Ratio> ratio_of(FloatExpression e) {
  constexpr double kLargeFactor = 1024, kSmallestPart = 0x1p-20;
  const Atom* atom = atom_of(e);
  if (atom->kind != Kind::FloatDivide && atom->kind != Kind::FloatMultiply) return std::nullopt;
  const FloatExpression left{of_node(atom->left)}, right{of_node(atom->right)};
  if (atom->kind == Kind::FloatDivide) {
    const auto a = integer_of(left), b = integer_of(right);
    return a && b ? std::optional(Ratio{*a, *b}) : std::nullopt;
  }
  const bool is_first = constant_value(left).has_value();
  const auto integer = integer_of(is_first ? right : left);
  const auto factor = constant_value(is_first ? left : right);
  if (!integer || !factor) return std::nullopt;
  double numerator = *factor;
  int64_t denominator = 1;
  for (; numerator != std::trunc(numerator) && denominator * kSmallestPart < 1; denominator *= 2) numerator *= 2;
  if (numerator != std::trunc(numerator) || std::abs(numerator) > kLargeFactor) return std::nullopt;
  return Ratio{*integer * constant(static_cast<int64_t>(numerator)), constant(denominator)};
}

SizeCondition is_equal(FloatExpression a, FloatExpression b) {
  const auto x = integer_of(a), y = integer_of(b);
  return x && y ? is_equal(*x, *y) : is_equal(order_of(a, b), constant(0));
}

SizeCondition is_less(FloatExpression a, FloatExpression b) {
  const auto x = integer_of(a), y = integer_of(b);
  return x && y ? is_less(*x, *y) : is_less_equal(order_of(a, b), constant(-1));
}

SizeCondition is_less_equal(FloatExpression a, FloatExpression b) {
  const auto x = integer_of(a), y = integer_of(b);
  return x && y ? is_less_equal(*x, *y) : is_less_equal(order_of(a, b), constant(0));
}

std::optional<double> evaluate(FloatExpression e, std::span<const int64_t> symbols) {
  const auto bits = evaluate(e.bits, symbols);
  return bits ? std::optional(float_of_bits(*bits)) : std::nullopt;
}

}  // namespace minidynamo
