// Expressions over the numbers of a trace that may differ at the next call: sizes of inputs and int arguments.
//
// An integer expression is a polynomial with integer coefficients over atoms; an atom is a symbol, one of //, %, min,
// max of two expressions, or a float made an integer. A float expression is what Python computes of integers in
// floats, one operation after the other, each rounded as it is there. Expressions are interned: equal ones have equal
// numbers, in all traces of the process. A trace numbers its symbols from 0, so the next capture of a program meets the
// same expressions, and what was remembered of them. The values that symbols have in a trace are not part of an
// expression (trace_sizes.h).
//
// Knows neither Python nor torch. Safe in several threads. Arithmetic is that of Python's ints as long as everything
// fits into 64 bits; what does not is SizeOverflow.
#pragma once
#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace minidynamo {

struct SizeOverflow : std::overflow_error {
  SizeOverflow() : std::overflow_error("a size does not fit into 64 bits") {}
};

// The number of an interned expression.
struct Expression {
  int32_t id = 0;  // the constant 0's
  auto operator<=>(const Expression&) const = default;
};

// The same of one whose value is a float.
struct FloatExpression {
  Expression bits;
  auto operator<=>(const FloatExpression&) const = default;
};

Expression constant(int64_t value);
Expression symbol(int32_t number);

Expression operator+(Expression a, Expression b);
Expression operator-(Expression a, Expression b);
Expression operator*(Expression a, Expression b);
inline Expression operator-(Expression a) { return constant(0) - a; }
// As Python's // and %: rounds down, and the remainder has the divisor's sign. std::domain_error for a divisor that is
// 0. What is reduced (x // x to 1) is so for a divisor that is not 0: where the value of one may be 0, the caller asks
// that it is not before he divides.
Expression floor_divide(Expression a, Expression b);
Expression modulo(Expression a, Expression b);
Expression minimum(Expression a, Expression b);
Expression maximum(Expression a, Expression b);

FloatExpression float_constant(double value);
// Has no value where the integer is larger than 2**53, up to which floats are exact.
FloatExpression float_of(Expression e);
// As Python's. They have no value where Python raises: for a division by zero, a power of a negative or one that
// overflows, the root of a negative.
FloatExpression operator+(FloatExpression a, FloatExpression b);
FloatExpression operator-(FloatExpression a, FloatExpression b);
FloatExpression operator*(FloatExpression a, FloatExpression b);
FloatExpression operator/(FloatExpression a, FloatExpression b);
inline FloatExpression operator-(FloatExpression a) { return a * float_constant(-1); }
FloatExpression power(FloatExpression base, FloatExpression exponent);
FloatExpression square_root(FloatExpression a);
// Python's math.floor, math.ceil, int and round. Has no value where the integer does not fit into 64 bits.
enum class Rounding : uint8_t { Floor, Ceiling, Truncate, Nearest };
Expression rounded(Rounding how, FloatExpression a);

// The quotient of two integers that a float is, where it is one: a / b, or a * 0.75 as 3*a / 4. The double nearest to
// it as long as the numerator is smaller than 2**52, so that it is rounded to the same integers.
struct Ratio {
  Expression numerator, denominator;
};
std::optional<Ratio> ratio_of(FloatExpression e);

std::optional<int64_t> constant_value(Expression e) noexcept;  // nullopt: it has symbols
std::optional<double> constant_value(FloatExpression e) noexcept;
bool is_constant_expression(Expression e) noexcept;
// True if it is one whose value is a float.
bool is_float_expression(Expression e) noexcept;

// The relation of an expression to 0.
enum class SizeRelation : uint8_t { Equal, NotEqual, Less, LessEqual };

// Made by the functions below and by negated(), conditions that mean the same mostly are the same: a Less becomes a
// LessEqual, coefficients have no common factor.
struct SizeCondition {
  SizeRelation relation = SizeRelation::Equal;
  Expression expression;
  SizeCondition negated() const;
  auto operator<=>(const SizeCondition&) const = default;
};
SizeCondition is_equal(Expression a, Expression b);
SizeCondition is_less(Expression a, Expression b);
SizeCondition is_less_equal(Expression a, Expression b);
SizeCondition is_equal(FloatExpression a, FloatExpression b);
SizeCondition is_less(FloatExpression a, FloatExpression b);
SizeCondition is_less_equal(FloatExpression a, FloatExpression b);

// The possible values of a symbol, both ends included.
struct SizeRange {
  int64_t lower = INT64_MIN, upper = INT64_MAX;
};

// The range of an expression by interval arithmetic; `ranges` by symbol.
SizeRange range_of(Expression e, std::span<const SizeRange> ranges);
// True if a condition holds for all values in these ranges (true), for none (false), or depends (nullopt).
std::optional<bool> decide(SizeCondition condition, std::span<const SizeRange> ranges);

// With these values of the symbols. nullopt: it does not fit, a divisor is 0, or it has no value.
std::optional<int64_t> evaluate(Expression e, std::span<const int64_t> symbols);
std::optional<double> evaluate(FloatExpression e, std::span<const int64_t> symbols);
bool holds(SizeRelation relation, int64_t value) noexcept;

// The symbols that occur in it, in ascending order, each once.
std::vector<int32_t> symbols_of(Expression e);
// As Python writes it; `names` by symbol.
std::string text_of(Expression e, std::span<const std::string> names);
std::string text_of(FloatExpression e, std::span<const std::string> names);
std::string text_of(SizeCondition condition, std::span<const std::string> names);

// One step of an expression in reverse Polish notation, for those who compute or record it elsewhere.
struct SizeStep {
  enum class Kind : uint8_t {
    Constant,
    Symbol,
    // Two integers:
    Add,
    Subtract,
    Multiply,
    FloorDivide,
    Modulo,
    Minimum,
    Maximum,
    FloatConstant,
    FloatOf,  // one integer
    // Two floats:
    FloatAdd,
    FloatSubtract,
    FloatMultiply,
    FloatDivide,
    Power,
    SquareRoot,  // one float
    Order,       // two floats: the integer -1, 0 or 1 as the left is less, equal or greater, 2 where one is no number
    // Integers made of one float:
    Floor,
    Ceiling,
    Truncate,
    Nearest
  };
  Kind kind;
  int64_t operand = 0;  // Constant: the value; Symbol: its number; FloatConstant: the bits
};
std::vector<SizeStep> steps_of(Expression e);
// How many of the last results a step takes, and whether its own is a float.
int operands_of(SizeStep::Kind kind) noexcept;
bool is_float_step(SizeStep::Kind kind) noexcept;
// The result of a step. One operand is the `right`.
Expression result_of(SizeStep step, Expression left, Expression right);
// Runs such steps; a float as its bits. nullopt as above.
std::optional<int64_t> run_steps(std::span<const SizeStep> steps, std::span<const int64_t> symbols) noexcept;

}  // namespace minidynamo
