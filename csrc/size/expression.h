// Integer expressions over the numbers of a trace that may differ at the next call: sizes of inputs and int arguments.
//
// An expression is a polynomial with integer coefficients over atoms; an atom is a symbol, or one of //, %, min, max of
// two expressions. Expressions are interned: equal ones have equal numbers, in all traces of the process. A trace
// numbers its symbols from 0, so the next capture of a program meets the same expressions, and what was remembered of
// them. The values that symbols have in a trace are not part of an expression (trace_sizes.h).
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

std::optional<int64_t> constant_value(Expression e) noexcept;  // nullopt: it has symbols
bool is_constant_expression(Expression e) noexcept;

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

// The possible values of a symbol, both ends included.
struct SizeRange {
  int64_t lower = INT64_MIN, upper = INT64_MAX;
};

// The range of an expression by interval arithmetic; `ranges` by symbol.
SizeRange range_of(Expression e, std::span<const SizeRange> ranges);
// True if a condition holds for all values in these ranges (true), for none (false), or depends (nullopt).
std::optional<bool> decide(SizeCondition condition, std::span<const SizeRange> ranges);

// With these values of the symbols. nullopt: it does not fit, or a divisor is 0.
std::optional<int64_t> evaluate(Expression e, std::span<const int64_t> symbols);
bool holds(SizeRelation relation, int64_t value) noexcept;

// The symbols that occur in it, in ascending order, each once.
std::vector<int32_t> symbols_of(Expression e);
// As Python writes it; `names` by symbol.
std::string text_of(Expression e, std::span<const std::string> names);
std::string text_of(SizeCondition condition, std::span<const std::string> names);

// One step of an expression in reverse Polish notation, for those who compute or record it elsewhere.
struct SizeStep {
  enum class Kind : uint8_t { Constant, Symbol, Add, Subtract, Multiply, FloorDivide, Modulo, Minimum, Maximum };
  Kind kind;
  int64_t operand = 0;  // Constant: the value; Symbol: its number
};
std::vector<SizeStep> steps_of(Expression e);
// Runs such steps. nullopt as above.
std::optional<int64_t> run_steps(std::span<const SizeStep> steps, std::span<const int64_t> symbols) noexcept;

}  // namespace minidynamo
