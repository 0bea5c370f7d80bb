// Expressions of sizes: the laws of their arithmetic by brute force, what is decided about them, and what a trace asks.
#if __has_include(<catch2/catch_test_macros.hpp>)
#include <catch2/catch_test_macros.hpp>
#else
#include <catch2/catch.hpp>
#endif

#include <bit>
#include <cmath>
#include <random>
#include <thread>

#include "python/process/trace_aborted.h"
#include "size/trace_sizes.h"

namespace {

using namespace minidynamo;

using Value = std::optional<int64_t>;
using Values = std::vector<int64_t>;
constexpr int kSymbols = 3;

int64_t python_floor(int64_t x, int64_t y) {
  int64_t q = x / y;
  return q * y != x && (x < 0) != (y < 0) ? q - 1 : q;
}

// An expression, and the same as a plain tree that nothing reduces.
struct Tree {
  Expression reduced;
  std::function<Value(const Values&)> plain;
};

Tree random_tree(std::mt19937& random, int depth) {
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  if (depth == 0 || below(6) == 0) {
    if (below(2) == 0) {
      const int64_t value = below(15) - 6;
      return {constant(value), [=](const Values&) { return Value(value); }};
    }
    const int number = below(kSymbols);
    return {symbol(number), [=](const Values& values) { return Value(values[static_cast<size_t>(number)]); }};
  }
  const Tree a = random_tree(random, depth - 1), b = random_tree(random, depth - 1);
  const int kind = below(8);
  const auto plain = [=](const Values& values) -> Value {
    const Value x = a.plain(values), y = b.plain(values);
    if (!x || !y) return std::nullopt;
    switch (kind) {
      case 0:
        return *x + *y;
      case 1:
        return *x - *y;
      case 2:
        return *x * *y;
      case 3:
      case 4:
        return *y == 0 ? Value() : python_floor(*x, *y);
      case 5:
        return *y == 0 ? Value() : *x - *y * python_floor(*x, *y);
      case 6:
        return std::min(*x, *y);
      default:
        return std::max(*x, *y);
    }
  };
  const bool divides = kind >= 3 && kind <= 5;
  if (divides && constant_value(b.reduced) == 0) return a;
  switch (kind) {
    case 0:
      return {a.reduced + b.reduced, plain};
    case 1:
      return {a.reduced - b.reduced, plain};
    case 2:
      return {a.reduced * b.reduced, plain};
    case 3:
    case 4:
      return {floor_divide(a.reduced, b.reduced), plain};
    case 5:
      return {modulo(a.reduced, b.reduced), plain};
    case 6:
      return {minimum(a.reduced, b.reduced), plain};
    default:
      return {maximum(a.reduced, b.reduced), plain};
  }
}

// The same of floats.
struct FloatTree {
  FloatExpression reduced;
  std::function<std::optional<double>(const Values&)> plain;
};

FloatTree random_float_tree(std::mt19937& random, int depth) {
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  if (depth == 0) {
    static constexpr double kConstants[] = {0.0, -0.0, 0.5, 0.25, -1.5, 2.0, 3.0, 0.1, 1.0 / 3, 1e3};
    const double value = kConstants[below(std::size(kConstants))];
    if (below(3) == 0) return {float_constant(value), [=](const Values&) { return std::optional(value); }};
    const Tree of = random_tree(random, below(2));
    return {float_of(of.reduced), [=](const Values& values) {
              const Value integer = of.plain(values);
              return integer ? std::optional(static_cast<double>(*integer)) : std::nullopt;
            }};
  }
  const FloatTree a = random_float_tree(random, depth - 1), b = random_float_tree(random, depth - 1);
  const int kind = below(7);
  const auto plain = [=](const Values& values) -> std::optional<double> {
    const auto x = a.plain(values), y = b.plain(values);
    if (!x || (!y && kind != 5)) return std::nullopt;
    switch (kind) {
      case 0:
        return *x + *y;
      case 1:
        return *x - *y;
      case 2:
        return *x * *y;
      case 3:
      case 4:
        return *y == 0 ? std::nullopt : std::optional(*x / *y);
      case 5:
        return *x < 0 ? std::nullopt : std::optional(std::sqrt(*x));
      default:
        if (*x < 0 || (*x == 0 && *y < 0) || (std::isinf(std::pow(*x, *y)) && std::isfinite(*x) && std::isfinite(*y)))
          return std::nullopt;
        return std::pow(*x, *y);
    }
  };
  switch (kind) {
    case 0:
      return {a.reduced + b.reduced, plain};
    case 1:
      return {a.reduced - b.reduced, plain};
    case 2:
      return {a.reduced * b.reduced, plain};
    case 3:
    case 4:
      return {a.reduced / b.reduced, plain};
    case 5:
      return {square_root(a.reduced), plain};
    default:
      return {power(a.reduced, b.reduced), plain};
  }
}

std::optional<double> as_python_rounds(Rounding how, double value) {
  switch (how) {
    case Rounding::Floor:
      return std::floor(value);
    case Rounding::Ceiling:
      return std::ceil(value);
    case Rounding::Truncate:
      return std::trunc(value);
    default: {
      const double rounded = std::round(value);  // halves away from zero, which Python rounds to the even number
      return std::abs(value - rounded) == 0.5 ? 2 * std::round(value / 2) : rounded;
    }
  }
}

constexpr Rounding kRoundings[] = {Rounding::Floor, Rounding::Ceiling, Rounding::Truncate, Rounding::Nearest};

const std::vector<std::string> kNames{"s0", "s1", "s2", "s3"};
std::string text(Expression e) { return text_of(e, kNames); }
std::string text(SizeCondition c) { return text_of(c, kNames); }

const SizeRange kSize{2, INT64_MAX};

}  // namespace

TEST_CASE("size expressions have the values that Python computes", "[size]") {
  std::mt19937 random(1);
  size_t compared = 0;
  for (int i = 0; i < 20000; ++i) {
    const Tree tree = random_tree(random, 1 + i % 4);
    const auto steps = steps_of(tree.reduced);
    for (int k = 0; k < 8; ++k) {
      Values values;
      for (int s = 0; s < kSymbols; ++s) values.push_back(static_cast<int>(random() % 21) - 8);
      const Value plain = tree.plain(values), reduced = evaluate(tree.reduced, values);
      const Value run = run_steps(steps, values);
      if (reduced != run || (plain && plain != reduced)) {
        CAPTURE(text(tree.reduced), values, plain.value_or(-999), reduced.value_or(-999), run.value_or(-999));
        FAIL("values differ");
      }
      compared += plain.has_value();
    }
  }
  CHECK(compared > 80000);
}

TEST_CASE("what is decided about sizes holds", "[size]") {
  std::mt19937 random(2);
  size_t decisions = 0;
  for (int i = 0; i < 20000; ++i) {
    const Expression a = random_tree(random, 1 + i % 3).reduced, b = random_tree(random, 1 + i % 2).reduced;
    std::vector<SizeRange> ranges;
    for (int s = 0; s < kSymbols; ++s) {
      const int64_t lower = static_cast<int>(random() % 12) - 4;
      ranges.push_back({random() % 8 == 0 ? INT64_MIN : lower,
                        random() % 3 == 0 ? INT64_MAX : lower + static_cast<int>(random() % 8)});
    }
    const SizeCondition conditions[] = {is_equal(a, b), is_less(a, b), is_less_equal(a, b), is_equal(a, b).negated()};
    std::optional<bool> answers[4];
    for (int c = 0; c < 4; ++c) {
      answers[c] = decide(conditions[c], ranges);
      decisions += answers[c].has_value();
      CHECK((conditions[c].negated().negated() == conditions[c]));
      const auto opposite = decide(conditions[c].negated(), ranges);
      if (opposite && answers[c]) CHECK(*opposite != *answers[c]);
    }
    const SizeRange range = range_of(a, ranges);
    for (int k = 0; k < 12; ++k) {
      Values values;
      for (const auto& [lower, upper] : ranges) {
        const int64_t from = lower == INT64_MIN ? -9 : lower,
                      to = upper == INT64_MAX ? from + 30 : std::max(upper, from);
        values.push_back(from + static_cast<int64_t>(random() % static_cast<uint64_t>(to - from + 1)));
        if (values.back() > upper) values.back() = upper;
      }
      const Value x = evaluate(a, values), y = evaluate(b, values);
      if (!x || !y) continue;
      CAPTURE(text(a), text(b), values);
      if (*x < range.lower || *x > range.upper) FAIL("out of its range");
      const bool truths[] = {*x == *y, *x < *y, *x <= *y, *x != *y};
      for (int c = 0; c < 4; ++c) {
        const Value difference = evaluate(conditions[c].expression, values);
        if (difference && holds(conditions[c].relation, *difference) != truths[c]) FAIL(text(conditions[c]));
        if (answers[c] && *answers[c] != truths[c]) FAIL(text(conditions[c]) + " was decided wrongly");
      }
    }
  }
  CHECK(decisions > 20000);
}

TEST_CASE("floats of sizes have the values that Python computes", "[size]") {
  std::mt19937 random(3);
  size_t compared = 0, rounded_alike = 0, decisions = 0;
  for (int i = 0; i < 20000; ++i) {
    const FloatTree tree = random_float_tree(random, i % 4), other = random_float_tree(random, i % 3);
    std::vector<SizeRange> ranges;
    TraceSizes sizes;
    Values now;
    for (int s = 0; s < kSymbols; ++s) {
      const int64_t lower = static_cast<int>(random() % 6) - 2;
      ranges.push_back({lower, random() % 3 == 0 ? INT64_MAX : lower + static_cast<int>(random() % 8)});
      now.push_back(lower);
      sizes.add_symbol(lower, ranges.back(), kNames[static_cast<size_t>(s)]);
    }
    const auto steps = steps_of(tree.reduced.bits);
    const SizeCondition conditions[] = {is_equal(tree.reduced, other.reduced), is_less(tree.reduced, other.reduced),
                                        is_less_equal(tree.reduced, other.reduced),
                                        is_less_equal(tree.reduced, other.reduced).negated()};
    std::optional<bool> answers[4];
    for (int c = 0; c < 4; ++c) answers[c] = decide(conditions[c], ranges);
    std::optional<Expression> integers[4];
    for (int r = 0; r < 4; ++r) integers[r] = sizes.round(kRoundings[r], tree.reduced);
    for (int k = 0; k < 8; ++k) {
      Values values;
      for (const auto& [lower, upper] : ranges)
        values.push_back(std::min(upper, lower + static_cast<int64_t>(random() % 20)));
      CAPTURE(text_of(tree.reduced, kNames), text_of(other.reduced, kNames), values);
      const auto plain = tree.plain(values), against = other.plain(values), reduced = evaluate(tree.reduced, values);
      const Value run = run_steps(steps, values);
      if (plain != reduced && plain && !(reduced && std::isnan(*plain) && std::isnan(*reduced)))
        FAIL("values differ: " << *plain << " " << reduced.value_or(-999));
      if (reduced.has_value() != run.has_value() || (run && std::bit_cast<int64_t>(*reduced) != *run))
        FAIL("steps differ");
      if (!plain) continue;
      ++compared;
      for (int r = 0; r < 4; ++r) {
        if (!integers[r] || !(std::abs(*plain) < 1e15)) continue;
        const Value integer = evaluate(*integers[r], values);
        const SizeRange range = range_of(*integers[r], ranges);
        if (!integer || static_cast<double>(*integer) != as_python_rounds(kRoundings[r], *plain))
          FAIL(text(*integers[r]) << " is " << integer.value_or(-999));
        if (*integer < range.lower || *integer > range.upper) FAIL(text(*integers[r]) << " is out of its range");
        ++rounded_alike;
      }
      if (!against) continue;
      const bool truths[] = {*plain == *against, *plain < *against, *plain <= *against, !(*plain <= *against)};
      for (int c = 0; c < 4; ++c) {
        const Value difference = evaluate(conditions[c].expression, values);
        if (!difference || holds(conditions[c].relation, *difference) != truths[c]) FAIL(text(conditions[c]));
        if (answers[c] && *answers[c] != truths[c]) FAIL(text(conditions[c]) << " was decided wrongly");
        decisions += answers[c].has_value();
      }
    }
  }
  CHECK(compared > 80000);
  CHECK(rounded_alike > 200000);
  CHECK(decisions > 10000);
}

TEST_CASE("a trace asks about floats of its sizes", "[size]") {
  TraceSizes sizes;
  const Expression s = sizes.add_symbol(7, kSize, "s0"), n = sizes.add_symbol(7, {}, "n");
  const FloatExpression half = float_of(s) / float_of(constant(2));
  CHECK(sizes.value_of(half) == 3.5);
  CHECK(sizes.text(half) == "s0/2.0");
  CHECK(sizes.text(float_of(s)) == "float(s0)");
  CHECK((sizes.round(Rounding::Truncate, half) == floor_divide(s, constant(2))));
  CHECK((sizes.round(Rounding::Ceiling, half) == floor_divide(s + constant(1), constant(2))));
  CHECK(
      (sizes.round(Rounding::Floor, float_of(s) * float_constant(0.75)) == floor_divide(constant(3) * s, constant(4))));
  CHECK(sizes.text(*sizes.round(Rounding::Truncate, float_of(s) * float_constant(0.3))) == "int(s0*0.3)");
  CHECK(sizes.text(*sizes.round(Rounding::Truncate, float_of(n) / float_constant(2))) == "int(n/2.0)");
  CHECK(sizes.known(is_less_equal(constant(0), *sizes.round(Rounding::Truncate, float_of(s) * float_constant(0.3)))) ==
        true);
  CHECK(sizes.asked().empty());
  CHECK(sizes.ask(is_less(float_constant(1), half)));
  CHECK(sizes.ask(is_less_equal(half, float_constant(2))) == false);
  REQUIRE(sizes.asked().size() == 2);
  CHECK(sizes.text(sizes.asked()[0].condition) == "1.0 < s0/2.0");
  CHECK(sizes.text(sizes.asked()[1].condition) == "not s0/2.0 <= 2.0");
  CHECK(sizes.ask(is_less(float_constant(2.5), float_of(s))));
  CHECK(sizes.divide(half, float_of(n)));
  CHECK(sizes.text(sizes.asked().back().condition) == "n != 0");
  CHECK(sizes.divide(half, float_constant(0)) == std::nullopt);
  CHECK(sizes.divide(s, constant(2)) == half);
  const size_t before = sizes.asked().size();
  CHECK(sizes.divide(n, constant(2)));
  CHECK(sizes.asked().size() == before + 2);
  CHECK(sizes.text(sizes.asked()[before].condition) == "n <= 9007199254740992");
  CHECK(sizes.raise(float_of(n), float_constant(-0.5)));
  CHECK(sizes.text(sizes.asked().back().condition) == "n >= 1");
  CHECK(sizes.raise(-float_of(n), float_constant(0.5)) == std::nullopt);
  CHECK(sizes.root(half));
  CHECK(sizes.specialize(half) == 3.5);
  CHECK(constant_value(FloatExpression{sizes.simplify(half.bits)}) == 3.5);
  CHECK(constant_value(sizes.simplify(s)) == 7);
}

TEST_CASE("equal size expressions are one", "[size]") {
  const Expression s = symbol(0), t = symbol(1), u = symbol(2);
  CHECK(constant(0).id == 0);
  CHECK((s + t == t + s));
  CHECK(((s + t) * (s - t) == s * s - t * t));
  CHECK((s - s == constant(0)));
  CHECK((minimum(s, t) == minimum(t, s)));
  CHECK((floor_divide(constant(4) * s + constant(3), constant(4)) == s));
  CHECK((floor_divide(s * t + t, t) == s + constant(1)));
  CHECK((floor_divide(s * t + t, s + constant(1)) == t));
  CHECK((floor_divide((s + t) * (s + u) * constant(6), constant(2) * (s + u)) == constant(3) * (s + t)));
  CHECK((floor_divide(floor_divide(s, constant(2)), constant(3)) == floor_divide(s, constant(6))));
  CHECK((floor_divide(s - constant(1), constant(2)) + constant(1) == floor_divide(s + constant(1), constant(2))));
  CHECK((floor_divide(constant(2) * s, constant(4)) == floor_divide(s, constant(2))));
  CHECK((floor_divide(s, constant(-1)) == -s));
  CHECK((modulo(constant(4) * s + constant(3), constant(4)) == constant(3)));
  CHECK((modulo(s * t, t) == constant(0)));
  CHECK((minimum(s, s + constant(1)) == s));
  CHECK((maximum(s, s + constant(1)) == s + constant(1)));
  CHECK((is_less(s, t) == is_less_equal(s + constant(1), t)));
  CHECK((is_equal(s, t) == is_equal(t, s)));
  CHECK((is_less(constant(2) * s, constant(6)) == is_less(s, constant(3))));
  CHECK((is_less(constant(2) * s, constant(7)) == is_less_equal(s, constant(3))));
  CHECK((is_equal(constant(2) * s, constant(2) * t) == is_equal(s, t)));
  CHECK((symbols_of(minimum(u, s) * u) == std::vector<int32_t>{0, 2}));
}

TEST_CASE("sizes are written as Python writes them", "[size]") {
  const Expression s = symbol(0), t = symbol(1), u = symbol(2), v = symbol(3);
  const auto number = [](int64_t value) { return constant(value); };
  CHECK(text(number(0)) == "0");
  CHECK(text(t + number(2) * s) == "2*s0 + s1");
  CHECK(text(s * t - number(4)) == "s0*s1 - 4");
  CHECK(text(number(4) - s) == "4 - s0");
  CHECK(text(-s) == "-s0");
  CHECK(text(s * s * t) == "s0**2*s1");
  CHECK(text(floor_divide(s + number(1), number(2))) == "(s0 + 1)//2");
  CHECK(text(number(3) * floor_divide(s, number(2))) == "3*(s0//2)");
  CHECK(text(-floor_divide(s, number(2))) == "-(s0//2)");
  CHECK(text(modulo(s, number(4))) == "s0 % 4");
  CHECK(text(floor_divide(s, t * u)) == "s0//(s1*s2)");
  CHECK(text(minimum(number(4), s)) == "min(s0, 4)");
  CHECK(text(maximum(t, s)) == "max(s0, s1)");
  CHECK(text(is_less_equal(s, number(4))) == "s0 <= 4");
  CHECK(text(is_less(number(3), s)) == "s0 >= 4");
  CHECK(text(is_equal(s, t)) == "s0 == s1");
  CHECK(text(is_less(s, t)) == "s0 < s1");
  CHECK(text(is_less_equal(s, t)) == "s0 <= s1");
  CHECK(text(is_less_equal(s, t + number(4))) == "s0 <= s1 + 4");
  CHECK(text(is_equal(s * t, u * v)) == "s0*s1 == s2*s3");
  CHECK(text(is_equal(s, number(-4)).negated()) == "s0 != -4");
  CHECK(text(is_equal(number(1), number(2))) == "False");
}

TEST_CASE("sizes of tensors are compared without asking", "[size]") {
  const Expression s = symbol(0), t = symbol(1);
  const std::vector<SizeRange> ranges{kSize, kSize};
  const auto number = [](int64_t value) { return constant(value); };
  const auto surely = [&](SizeCondition c) {
    return decide(c, ranges) == true && decide(c.negated(), ranges) == false;
  };
  CHECK(surely(is_less_equal(number(4), s * t)));
  CHECK(surely(is_less_equal(floor_divide(s, number(2)), s)));
  CHECK(surely(is_less_equal(floor_divide(s, number(2)) + floor_divide(s, number(3)), s + s)));
  CHECK(surely(is_less_equal(t * floor_divide(s, number(2)), s * t)));
  CHECK(surely(is_less_equal(s - number(1), number(2) * floor_divide(s, number(2)))));
  CHECK(surely(is_less_equal(floor_divide(s, t), s)));
  CHECK(surely(is_less(modulo(s, number(4)), number(4))));
  CHECK(surely(is_less(modulo(s, t), t)));
  CHECK(surely(is_less_equal(minimum(s, t), t)));
  CHECK(surely(is_less_equal(s, maximum(s, t))));
  CHECK(surely(is_less_equal(minimum(s, t), maximum(s, t))));
  CHECK(surely(is_less_equal(s, s * t)));
  CHECK(surely(is_equal(number(2) * s, number(2) * t + number(1)).negated()));
  CHECK_FALSE(decide(is_less(s, t), ranges));
  CHECK_FALSE(decide(is_less_equal(s, number(64)), ranges));
}

TEST_CASE("sizes that do not fit are refused", "[size]") {
  const Expression s = symbol(0), most = constant(INT64_MAX), least = constant(INT64_MIN);
  CHECK_THROWS_AS(most + constant(1), SizeOverflow);
  CHECK_THROWS_AS(constant(0) - least, SizeOverflow);
  CHECK_THROWS_AS(most * s * constant(2), SizeOverflow);
  CHECK_THROWS_AS(floor_divide(least, constant(-1)), SizeOverflow);
  CHECK_THROWS_AS(floor_divide(s, constant(0)), std::domain_error);
  CHECK_THROWS_AS(modulo(s, constant(0)), std::domain_error);
  CHECK((modulo(least, constant(-1)) == constant(0)));
  CHECK((minimum(least, most) == least));
  const Values large{INT64_MAX};
  CHECK_FALSE(evaluate(s + constant(1), large));
  CHECK_FALSE(run_steps(steps_of(s * s), large));
  CHECK_FALSE(evaluate(floor_divide(constant(1), s), Values{0}));
  CHECK_FALSE(evaluate(symbol(1), large));
  const std::vector<SizeRange> ranges{{INT64_MAX - 1, INT64_MAX - 1}};
  CHECK(decide(is_less(constant(0), s * s), ranges) == true);
  CHECK(range_of(s * s, ranges).upper == INT64_MAX);
}

TEST_CASE("a trace asks about its sizes", "[size]") {
  TraceSizes sizes;
  uint32_t causes = 0;
  sizes.note_cause = [&] { return ++causes; };
  const Expression s = sizes.add_symbol(4, kSize, "s0"), t = sizes.add_symbol(8, kSize, "s1");
  const Expression u = sizes.add_symbol(8, kSize, "s2");
  const auto number = [](int64_t value) { return constant(value); };
  CHECK(sizes.value_of(s * t) == 32);
  CHECK(sizes.ask(is_less_equal(number(2), s)));  // the range tells
  CHECK(sizes.asked().empty());
  CHECK(sizes.known(is_less_equal(s, number(64))) == std::nullopt);
  CHECK(sizes.ask(is_less_equal(s, number(64))));
  CHECK(sizes.known(is_less_equal(s, number(100))) == true);
  CHECK(sizes.known(is_less(number(70), s)) == false);
  CHECK_FALSE(sizes.ask(is_less(t, s)));
  CHECK(sizes.known(is_less_equal(s, t)) == true);
  REQUIRE(sizes.asked().size() == 2);
  CHECK(sizes.text(sizes.asked()[0].condition) == "s0 <= 64");
  CHECK(sizes.text(sizes.asked()[1].condition) == "s0 <= s1");
  CHECK(sizes.asked()[1].cause == 2);

  const size_t mark = sizes.mark();
  CHECK(sizes.ask(is_equal(t, u)));
  CHECK(sizes.known(is_equal(u, t)) == true);
  CHECK(sizes.known(is_less(u, t)) == false);
  CHECK(sizes.specialize(number(2) * t + number(1)) == 17);
  CHECK(sizes.asked().size() == 4);
  CHECK((sizes.simplify(s * t) == number(8) * s));
  CHECK((sizes.simplify(floor_divide(s + t, number(2))) == floor_divide(s, number(2)) + number(4)));
  CHECK(sizes.known(is_equal(u, number(8))) == true);  // from t == u
  CHECK((sizes.simplify(minimum(u, s)) == minimum(s, number(8))));
  CHECK(sizes.specialize(t) == 8);
  CHECK(sizes.asked().size() == 4);

  const auto taken = sizes.take_since(mark);
  REQUIRE(taken.size() == 2);
  CHECK(sizes.text(taken[1].condition) == "s1 == 8");
  CHECK(sizes.asked().size() == 2);
  CHECK(sizes.known(is_equal(t, u)) == std::nullopt);
  CHECK(sizes.known(is_equal(u, number(8))) == std::nullopt);
  CHECK((sizes.simplify(s * t) == s * t));
  CHECK(sizes.known(is_less_equal(s, number(100))) == true);
  CHECK(sizes.take_since(2).empty());

  const Expression huge = sizes.add_symbol(INT64_MAX, {}, "n");
  CHECK_THROWS_AS(sizes.ask(is_less(huge * s, t)), SizeOverflow);
  CHECK(sizes.asked().size() == 2);
}

TEST_CASE("what a trace knows of its sizes holds wherever its conditions do", "[size]") {
  std::mt19937 random(3);
  for (int i = 0; i < 1500; ++i) {
    TraceSizes sizes;
    for (int s = 0; s < kSymbols; ++s) {
      sizes.add_symbol(2 + static_cast<int>(random() % 6), kSize, "s" + std::to_string(s));
    }
    for (int k = 0; k < 5; ++k) {
      const Expression a = random_tree(random, 2).reduced, b = random_tree(random, 1).reduced;
      if (!evaluate(a - b, sizes.values())) continue;
      if (random() % 4 == 0) {
        sizes.specialize(symbol(static_cast<int>(random() % kSymbols)));
      }
      const SizeCondition c = random() % 2 ? is_less(a, b) : is_equal(a, b);
      sizes.ask(c);
      const auto known = sizes.known(c);
      if (!known || *known != holds(c.relation, *evaluate(c.expression, sizes.values()))) FAIL(text(c));
    }
    const Expression a = random_tree(random, 2).reduced, b = random_tree(random, 1).reduced;
    const SizeCondition c = random() % 2 ? is_less(a, b) : is_equal(a, b);
    std::optional<bool> known;
    try {
      known = sizes.known(c);
    } catch (const std::domain_error&) {
      continue;  // a divisor is 0 in this trace
    }
    for (int64_t x = 2; x < 9; ++x) {
      for (int64_t y = 2; y < 9; ++y) {
        for (int64_t z = 2; z < 9; ++z) {
          const Values values{x, y, z};
          bool all = true;
          for (const auto& asked : sizes.asked()) {
            const Value value = evaluate(asked.condition.expression, values);
            all = all && value && holds(asked.condition.relation, *value);
          }
          const Value value = evaluate(c.expression, values);
          if (all && known && value && holds(c.relation, *value) != *known) {
            CAPTURE(values, *known);
            FAIL(text(c));
          }
        }
      }
    }
  }
}

TEST_CASE("threads meet the same size expressions", "[size]") {
  constexpr int kThreads = 4, kCount = 2000;
  std::vector<std::vector<Expression>> made(kThreads);
  std::vector<std::thread> threads;
  for (auto& mine : made) {
    threads.emplace_back([&mine] {
      const Expression s = symbol(100), t = symbol(101);
      for (int i = 0; i < kCount; ++i) {
        const Expression a = s * constant(i) + t, b = t + constant(i + 2);
        for (const Expression e : {a * b, floor_divide(a, b), modulo(b, s), minimum(a, b), a - b}) mine.push_back(e);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& mine : made) CHECK((mine == made[0]));
}

TEST_CASE("nothing is decided by the example of an unknown number") {
  TraceSizes sizes;
  const Expression known = sizes.add_symbol(8, {2, INT64_MAX}, "s");
  const Expression unknown = sizes.add_unknown(5, {0, INT64_MAX}, "u");
  CHECK(sizes.is_unknown(unknown * known + constant(1)));
  CHECK_FALSE(sizes.is_unknown(known));
  CHECK(sizes.ask(is_less_equal(constant(0), unknown)));  // by its range
  CHECK_THROWS_AS(sizes.ask(is_less(unknown, known)), TraceAborted);
  CHECK_THROWS_AS(sizes.specialize(unknown + constant(1)), TraceAborted);
  CHECK_THROWS_AS(sizes.suppose(is_less(unknown, known)), TraceAborted);  // no check follows

  std::vector<SizeCondition> checked;
  sizes.check = [&](SizeCondition condition) {
    checked.push_back(condition);
    return true;
  };
  CHECK(sizes.suppose(is_less_equal(unknown, constant(9))));
  CHECK(sizes.suppose(is_less_equal(unknown, constant(9))));
  CHECK(checked.size() == 1);
  CHECK_FALSE(sizes.ask(is_less(constant(9), unknown)));
  CHECK(sizes.suppose(is_less(known, constant(100))));  // asked directly, since the number is known by now
  CHECK(checked.size() == 1);
  CHECK(sizes.asked().size() == 1);
  CHECK(sizes.facts().size() == 1);
}
