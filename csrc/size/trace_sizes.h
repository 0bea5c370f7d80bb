// The numbers of one trace that may differ at the next call: the symbols, what they are now, and what the trace has
// asked about them. What was asked is a condition that must hold at the next call too, or follows from the ranges.
//
// Some of them are unknown: only the run of the graph has them (what item() reads, how many elements a mask takes).
// Such a number has an example in place of a value, for kernels to compute with. Nothing is ever decided by that: what
// the ranges and the facts about unknown numbers do not tell is refused, which ends the trace, or supposed, which makes
// the graph check it.
//
// Knows neither Python nor torch. Used by one thread at a time.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "size/expression.h"

namespace minidynamo {

class TraceSizes {
 public:
  // The conditions that were queried, in the order of the queries, each once.
  struct Asked {
    SizeCondition condition;  // holds
    uint32_t cause = 0;       // result of `note_cause` when it was first queried
  };

  // A symbol with its value now and the values that it may ever have: a value outside of these belongs to another
  // capture.
  Expression add_symbol(int64_t value, SizeRange range, std::string name);
  // An unknown one.
  Expression add_unknown(int64_t example, SizeRange range, std::string name);
  size_t symbol_count() const noexcept { return values_.size(); }
  // True if an unknown number is part of it, whatever is known of that.
  bool is_unknown(Expression e) const;
  // Which symbols are, as a number; 0: none.
  uint64_t unknown_symbols() const noexcept;

  // Now. SizeOverflow if it does not fit.
  int64_t value_of(Expression e) const;
  double value_of(FloatExpression e) const;
  std::span<const int64_t> values() const noexcept { return values_; }
  std::span<const SizeRange> ranges() const noexcept { return ranges_; }
  std::span<const std::string> names() const noexcept { return names_; }
  std::string text(Expression e) const { return text_of(e, names_); }
  std::string text(FloatExpression e) const { return text_of(e, names_); }
  std::string text(SizeCondition condition) const { return text_of(condition, names_); }

  // True if it holds at every call that the trace is good for; nullopt: it has not been queried, and ranges do not
  // decide it.
  std::optional<bool> known(SizeCondition condition) const;
  // True if it holds now; from here on it is the same at every call that the trace is good for.
  bool ask(SizeCondition condition);
  // Its value now, which is its value at every call from here on.
  int64_t specialize(Expression e);
  // The same: all symbols in it are numbers from here on.
  double specialize(FloatExpression e);
  // A query whose other answer is an error, or rare: for unknown numbers the graph is made to check it, and it holds
  // from here on. Any other condition goes to ask().
  bool suppose(SizeCondition condition);
  // Python's operators that may raise, which is asked: nullopt if one does now, or if the result is no float.
  std::optional<FloatExpression> divide(FloatExpression a, FloatExpression b);
  // The quotient of integers; nullopt too where one is larger than what floats have exactly, since Python rounds once.
  std::optional<FloatExpression> divide(Expression a, Expression b);
  std::optional<FloatExpression> raise(FloatExpression base, FloatExpression exponent);
  std::optional<FloatExpression> root(FloatExpression a);
  // nullopt: the value now does not fit into 64 bits.
  std::optional<Expression> round(Rounding how, FloatExpression a) const;
  // Adds a condition that the graph checks.
  void add_fact(SizeCondition condition);
  const std::vector<SizeCondition>& facts() const noexcept { return facts_; }

  // Called with a condition on unknown numbers whose value is needed; does not return.
  std::function<void(SizeCondition)> refuse;
  // Called with one that the graph is to check. False: it cannot.
  std::function<bool(SizeCondition)> check;

  // The reduced form under what was asked: a symbol that must be a number is that number.
  Expression simplify(Expression e) const;

  const std::vector<Asked>& asked() const noexcept { return asked_; }
  // Called when a condition is asked first: what caused it, for messages.
  std::function<uint32_t()> note_cause;

  // Drops what was asked since: what a computation asked on its own account only.
  size_t mark() const noexcept { return asked_.size(); }
  std::vector<Asked> take_since(size_t mark);

 private:
  std::vector<int64_t> values_;
  std::vector<SizeRange> ranges_;    // narrowed by what was asked
  std::vector<SizeRange> declared_;  // as given
  std::vector<std::string> names_;
  std::vector<Asked> asked_;
  std::map<SizeCondition, bool> answers_;
  size_t points_ = 0;  // symbols that can be one number only
  std::vector<SizeCondition> facts_;
  std::vector<bool> unknown_;  // by symbol
  size_t unknown_count_ = 0;
  void learn(SizeCondition condition);
  bool has_value(FloatExpression e) const;
  bool is_of_dimensions(Expression e) const;
  bool is_exact_float(Expression e);
  [[noreturn]] void refuse_to_tell(SizeCondition condition) const;
};

}  // namespace minidynamo
