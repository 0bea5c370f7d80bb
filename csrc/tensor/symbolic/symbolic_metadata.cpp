#include "tensor/symbolic/symbolic_metadata.h"

#include <algorithm>
#include <bit>
#include <map>

#include "tensor/symbolic/expression_fit.h"
#include "tensor/symbolic/size_node.h"
#include "tensor/symbolic/symbolic_fake.h"
#include "tensor/symbolic/symbolic_rules.h"

namespace minidynamo {
namespace {

using Values = std::vector<int64_t>;  // by symbol
using Arguments = c10::ArrayRef<c10::IValue>;
using Tensors = c10::ArrayRef<const at::Tensor*>;

constexpr size_t kFewestProbes = 5;  // that have to run, for a fit to be believed
constexpr size_t kProbes = 8;

// An argument with numbers in place of symbolic ones.
template <typename NumberOf>
c10::IValue replaced(const c10::IValue& value, const NumberOf& number_of) {
  if (value.isSymInt()) return number_of(expression_of(value.toSymInt()));
  if (value.isSymFloat()) return std::bit_cast<double>(number_of(expression_of(value.toSymFloat()).bits));
  if (!value.isList()) return value;
  const c10::ArrayRef<c10::IValue> items = value.toListRef();
  if (std::ranges::none_of(items, [](const c10::IValue& item) { return item.isSymInt(); })) return value;
  c10::List<int64_t> numbers;
  for (const c10::IValue& item : items)
    numbers.push_back(item.isSymInt() ? number_of(expression_of(item.toSymInt())) : item.toInt());
  return numbers;
}

void each_number(const c10::IValue& value, const std::function<void(Expression)>& use) {
  if (value.isSymInt()) use(expression_of(value.toSymInt()));
  if (value.isSymFloat())
    for (const int32_t number : symbols_of(expression_of(value.toSymFloat()).bits)) use(symbol(number));
  if (!value.isList()) return;
  for (const c10::IValue& item : value.toListRef())
    if (item.isSymInt()) use(expression_of(item.toSymInt()));
}

void each_number(const SymbolicLayout& layout, const std::function<void(Expression)>& use) {
  for (const Expression size : layout.sizes) use(size);
  for (const Expression stride : layout.strides) use(stride);
  use(layout.offset);
}

// The call with other sizes: tensors of which nothing is symbolic. nullopt: there is none with such sizes.
class CallAt {
 public:
  static std::optional<CallAt> of(Arguments arguments, Tensors tensors, const Values& values) {
    CallAt made;
    bool is_possible = true;
    auto number = [&](Expression e) {
      const std::optional<int64_t> value = evaluate(e, values);
      is_possible &= value.has_value();
      return value.value_or(0);
    };
    for (const c10::IValue& value : arguments) made.arguments_.push_back(replaced(value, number));
    made.tensors_.reserve(tensors.size());
    for (const at::Tensor* tensor : tensors) {
      FakeLayout layout;
      if (!is_possible || !made.layout_of(*tensor, number, layout)) return std::nullopt;
      made.add(*tensor, tensors, layout);
    }
    if (!is_possible) return std::nullopt;
    return made;
  }

  MetaOutcome run(const c10::OperatorHandle& op, const OperatorInfo& info) const {
    std::vector<const at::Tensor*> pointers;
    for (const at::Tensor& tensor : tensors_) pointers.push_back(&tensor);
    return run_meta_kernel(op, info, arguments_, pointers);
  }

 private:
  std::vector<c10::IValue> arguments_;
  std::vector<at::Tensor> tensors_;

  template <typename NumberOf>
  static bool layout_of(const at::Tensor& tensor, const NumberOf& number, FakeLayout& layout) {
    if (!tensor.defined()) return true;
    layout = FakeLayout::of(tensor);
    const std::shared_ptr<const SymbolicLayout> symbols = std::move(layout.symbols);
    if (!symbols) return true;
    for (size_t i = 0; i < layout.sizes.size(); ++i) {
      layout.sizes[i] = number(symbols->sizes[i]);
      layout.strides[i] = number(symbols->strides[i]);
      // Sizes of 0 and 1 are cases of their own, which no symbolic size is but an unknown one.
      const bool may_be_small =
          is_constant_expression(symbols->sizes[i]) || current_trace_sizes()->is_unknown(symbols->sizes[i]);
      if (layout.sizes[i] < (may_be_small ? 0 : 2) || layout.strides[i] < 0) return false;
    }
    layout.offset = number(symbols->offset);
    return layout.offset >= 0;
  }

  // With no symbolic number behind it, which kernels written in Python would be given.
  static at::Tensor number_like(const at::Tensor& original) {
    const bool is_double = original.scalar_type() == c10::kDouble;
    at::Tensor number = c10::scalar_to_tensor(is_double ? at::Scalar(2.0) : at::Scalar(int64_t{2}));
    if (number.scalar_type() != original.scalar_type()) return original;
    number.unsafeGetTensorImpl()->set_wrapped_number(true);
    return number;
  }

  void add(const at::Tensor& original, Tensors all, const FakeLayout& layout) {
    if (!original.defined() || original.unsafeGetTensorImpl()->is_wrapped_number()) {
      tensors_.push_back(stands_for_symbolic_number(original) ? number_like(original) : original);
      return;
    }
    const c10::Storage& storage = original.unsafeGetTensorImpl()->unsafe_storage();
    for (size_t i = 0; i < tensors_.size(); ++i) {
      if (!all[i]->defined() || !same_storage(all[i]->unsafeGetTensorImpl()->unsafe_storage(), storage)) continue;
      const bool is_same = all[i]->is_same(original);
      tensors_[i].unsafeGetTensorImpl()->unsafe_storage().set_nbytes(
          std::max<size_t>(tensors_[i].unsafeGetTensorImpl()->unsafe_storage().nbytes(), storage_bytes(layout)));
      tensors_.push_back(is_same ? tensors_[i] : new_fake_view(layout, tensors_[i]));
      return;
    }
    const int64_t bytes = std::max(storage ? static_cast<int64_t>(storage.nbytes()) : 0, storage_bytes(layout));
    tensors_.push_back(new_fake(layout, bytes, original.device()));
  }
};

// The expressions that some symbols are tied to while others vary.
struct Ties {
  std::map<int32_t, Expression> symbols;
  std::vector<SizeCondition> asks;  // the conditions that the ties amount to

  bool has(int32_t symbol) const { return symbols.contains(symbol); }
  void add(int32_t number, Expression to) {
    symbols[number] = to;
    asks.push_back(is_equal(symbol(number), to));
  }
};

class Propagation {
 public:
  Propagation(const c10::OperatorHandle& op, const OperatorInfo& info, Arguments arguments, Tensors tensors)
      : op_(op),
        info_(info),
        arguments_(arguments),
        tensors_(tensors),
        trace_(*current_trace_sizes()),
        hints_(trace_.values().begin(), trace_.values().end()) {
    auto note = [&](Expression e) {
      if (!is_constant_expression(e) && std::ranges::find(numbers_, e) == numbers_.end()) numbers_.push_back(e);
    };
    for (const at::Tensor* tensor : tensors)
      if (const SymbolicFake* symbolic = SymbolicFake::of(*tensor)) each_number(*symbolic->symbols(), note);
    for (const c10::IValue& argument : arguments) each_number(argument, note);
    for (const Expression e : numbers_)
      for (const int32_t symbol : symbols_of(e))
        if (std::ranges::find(symbols_, symbol) == symbols_.end()) symbols_.push_back(symbol);
    std::ranges::sort(symbols_);
    for (const int32_t number : symbols_)
      if (trace_.is_unknown(symbol(number))) unknown_.push_back(number);
  }

  std::optional<MetadataResult> run() {
    // The examples of unknown numbers have to agree with what a rule supposes of them, or the kernel may refuse them.
    if (!unknown_.empty()) ruled_ = rule_layout(as_call());
    const std::optional<CallAt> now = CallAt::of(arguments_, tensors_, hints_);
    if (!now) throw CannotFake{FakeProblem::Kind, c10::str(info_.name, " of sizes that cannot be")};
    MetaOutcome outcome = now->run(op_, info_);
    if (outcome.changed_arguments) return std::nullopt;
    result_ = std::move(outcome.result);
    if (!numbers_.empty() && !decide_values() && !follow_rule() && !fit_somehow()) specialize();
    for (const TensorResult& entry : result_.tensors) {
      if (!entry.layout.symbols) continue;
      for (const Expression size : entry.layout.symbols->sizes) {
        if (is_constant_expression(size)) continue;
        if (trace_.is_unknown(size))
          suppose(is_less_equal(constant(0), size));
        else
          ask(is_less_equal(constant(2), size));
      }
    }
    result_.conditions = std::move(conditions_);
    return std::move(result_);
  }

 private:
  const c10::OperatorHandle& op_;
  const OperatorInfo& info_;
  Arguments arguments_;
  Tensors tensors_;
  TraceSizes& trace_;
  Values hints_;
  std::vector<Expression> numbers_;  // that the arguments are made of
  std::vector<int32_t> symbols_;
  std::vector<int32_t> unknown_;  // those of symbols_ that are unknown
  std::optional<SymbolicLayout> ruled_;
  MetadataResult result_;
  std::vector<SizeCondition> conditions_;

  // A condition is part of the result however it was decided: another trace may not know what this one knows.
  bool ask(SizeCondition condition) {
    const bool holds = trace_.ask(condition);
    const SizeCondition asked = holds ? condition : condition.negated();
    if (!is_constant_expression(asked.expression)) conditions_.push_back(asked);
    return holds;
  }
  bool suppose(SizeCondition condition) {
    const bool holds = trace_.suppose(condition);
    const SizeCondition supposed = holds ? condition : condition.negated();
    if (!is_constant_expression(supposed.expression)) conditions_.push_back(supposed);
    return holds;
  }
  SymbolicCall as_call() {
    return {info_, arguments_, tensors_, [this](SizeCondition condition) { return suppose(condition); }, trace_};
  }

  // True if symbolic numbers are in this call's range: where a size is 0 or 1 now, it is so for good.
  bool is_plausible(const SymbolicLayout& layout, const FakeLayout& hint) const {
    if (layout.sizes.size() != hint.sizes.size() || layout.strides.size() != hint.strides.size()) return false;
    auto is = [&](Expression e, int64_t number) { return evaluate(e, hints_) == number; };
    for (size_t i = 0; i < hint.sizes.size(); ++i)
      if (!is(layout.sizes[i], hint.sizes[i]) || !is(layout.strides[i], hint.strides[i])) return false;
    return is(layout.offset, hint.offset);
  }

  static bool is_constant_layout(const SymbolicLayout& layout) {
    bool is = true;
    each_number(layout, [&](Expression e) { is &= is_constant_expression(e); });
    return is;
  }

  // Sizes that are 0 or 1 now stay so.
  void specialize(TensorResult& entry, SymbolicLayout layout) {
    for (Expression& size : layout.sizes) {
      if (is_constant_expression(size) || trace_.is_unknown(size)) continue;
      const int64_t now = trace_.value_of(size);
      if (now >= 2) continue;
      ask(is_equal(size, constant(now)));
      size = constant(now);
    }
    entry.layout.symbols = is_constant_layout(layout) ? nullptr : std::make_shared<SymbolicLayout>(std::move(layout));
  }

  // The result is for this call's sizes alone.
  void specialize() {
    ask_ties(all_tied());
    for (TensorResult& entry : result_.tensors) entry.layout.symbols = nullptr;
  }

  // An operator may return a number or a truth value: probes do not show at which sizes it changes.
  bool decide_values() {
    const bool has_values = std::ranges::any_of(result_.returns, [](const ReturnShape& shape) {
      return shape.kind == ReturnShape::Kind::Value && !shape.value.isNone();
    });
    if (!has_values) return false;
    if (info_.name != "aten::is_same_size") return specialize(), true;
    const SymbolicLayout one = as_call().layout(0), other = as_call().layout(1);
    for (size_t d = 0; d < one.sizes.size() && one.sizes.size() == other.sizes.size(); ++d)
      if (!ask(is_equal(one.sizes[d], other.sizes[d]))) break;
    return true;
  }

  bool follow_rule() {
    if (unknown_.empty() && follow_split()) return true;
    if (result_.tensors.size() != 1 || result_.tensors[0].kind == TensorResult::Kind::Argument) return false;
    std::optional<SymbolicLayout> layout = unknown_.empty() ? rule_layout(as_call()) : std::move(ruled_);
    // A rule that contradicts the kernel is none; what it has asked does no harm.
    if (!layout || !is_plausible(*layout, result_.tensors[0].layout)) return false;
    specialize(result_.tensors[0], std::move(*layout));
    return true;
  }

  bool follow_split() {
    std::vector<SymbolicLayout> parts = part_layouts(as_call(), result_.tensors.size());
    for (size_t i = 0; i < parts.size(); ++i)
      if (!is_plausible(parts[i], result_.tensors[i].layout)) return false;
    for (size_t i = 0; i < parts.size(); ++i) specialize(result_.tensors[i], std::move(parts[i]));
    return !parts.empty();
  }

  bool fit_somehow() {
    if (fit(Ties())) return true;
    const Ties aligned = aligned_ties(), equal = equal_ties();
    if (!aligned.symbols.empty() && fit(aligned)) return true;
    if (equal.symbols != aligned.symbols && !equal.symbols.empty() && fit(equal)) return true;
    if (symbols_.size() > 1) {
      for (const int32_t symbol : symbols_)
        if (std::ranges::find(unknown_, symbol) == unknown_.end())
          for (Ties ties : {Ties(), aligned}) {
            ties.add(symbol, constant(hints_[symbol]));
            if (fit(ties)) return true;
          }
    }
    return false;
  }

  // Sizes that broadcasting would hold against each other, and that are equal now.
  Ties aligned_ties() const {
    Ties ties;
    std::vector<std::vector<Expression>> shapes;
    for (const at::Tensor* tensor : tensors_) {
      if (!tensor->defined()) continue;
      std::vector<Expression>& shape = shapes.emplace_back();
      if (const SymbolicFake* symbolic = SymbolicFake::of(*tensor))
        shape.assign(symbolic->symbols()->sizes.rbegin(), symbolic->symbols()->sizes.rend());
      else
        for (const int64_t size : tensor->sizes()) shape.insert(shape.begin(), constant(size));
    }
    for (size_t a = 0; a < shapes.size(); ++a)
      for (size_t b = a + 1; b < shapes.size(); ++b)
        for (size_t d = 0; d < std::min(shapes[a].size(), shapes[b].size()); ++d) tie(ties, shapes[a][d], shapes[b][d]);
    return ties;
  }

  // All that are equal now.
  Ties equal_ties() const {
    Ties ties;
    // That an unknown number's example equals something says nothing.
    std::vector<Expression> numbers;
    for (const Expression e : numbers_)
      if (!trace_.is_unknown(e)) numbers.push_back(e);
    for (size_t a = 0; a < numbers.size(); ++a)
      for (size_t b = a + 1; b < numbers.size(); ++b) tie(ties, numbers[a], numbers[b]);
    for (const at::Tensor* tensor : tensors_) {
      if (!tensor->defined() || SymbolicFake::of(*tensor)) continue;
      for (const int64_t size : tensor->sizes())
        for (const Expression e : numbers) tie(ties, e, constant(size));
    }
    return ties;
  }

  Ties all_tied() const {
    Ties ties;
    for (const int32_t symbol : symbols_) ties.add(symbol, constant(hints_[symbol]));
    return ties;
  }

  std::optional<int32_t> bare_symbol(Expression e) const {
    const std::vector<int32_t> symbols = symbols_of(e);
    if (symbols.size() == 1 && symbol(symbols[0]) == e) return symbols[0];
    return std::nullopt;
  }

  void tie(Ties& ties, Expression a, Expression b) const {
    if (a == b || evaluate(a, hints_) != evaluate(b, hints_)) return;
    for (const auto& [one, other] : {std::pair(a, b), std::pair(b, a)}) {
      const std::optional<int32_t> bare = bare_symbol(one);
      if (!bare || ties.has(*bare)) continue;
      // The other expression has to vary by itself.
      const std::vector<int32_t> others = symbols_of(other);
      if (std::ranges::any_of(others, [&](int32_t s) { return s == *bare || ties.has(s); })) continue;
      return ties.add(*bare, other);
    }
    tie_products(ties, a, b);
  }

  // The symbols of a product of symbols and a number; empty for anything else.
  std::vector<int32_t> factors(Expression e) const {
    std::vector<int32_t> symbols = symbols_of(e);
    Expression product = constant(1);
    for (const int32_t s : symbols) product = product * symbol(s);
    const int64_t now = evaluate(product, hints_).value_or(0);
    const bool is_product = now && constant(evaluate(e, hints_).value_or(0) / now) * product == e;
    if (!is_product) symbols.clear();
    return symbols;
  }

  // Two products of the same number and as many symbols, equal one by one now. That the products are equal will do
  // where the call mentions those of the second in their product alone.
  void tie_products(Ties& ties, Expression a, Expression b) const {
    const std::vector<int32_t> left = factors(a), right = factors(b);
    if (left.empty() || left.size() != right.size()) return;
    for (size_t i = 0; i < left.size(); ++i) {
      const bool is_free = !ties.has(left[i]) && !ties.has(right[i]) && std::ranges::find(left, right[i]) == left.end();
      if (!is_free || hints_[left[i]] != hints_[right[i]]) return;
    }
    const bool is_only_whole = std::ranges::all_of(numbers_, [&](Expression e) {
      const Expression times = floor_divide(e, b);
      const std::vector<int32_t> rest = times * b == e ? symbols_of(times) : symbols_of(e);
      return std::ranges::none_of(right, [&](int32_t s) { return std::ranges::find(rest, s) != rest.end(); });
    });
    for (size_t i = 0; i < left.size(); ++i) {
      ties.symbols[right[i]] = symbol(left[i]);
      if (!is_only_whole) ties.asks.push_back(is_equal(symbol(right[i]), symbol(left[i])));
    }
    if (is_only_whole) ties.asks.push_back(is_equal(a, b));
  }

  void ask_ties(const Ties& ties) {
    for (const SizeCondition& condition : ties.asks) ask(condition);
  }
  void suppose_ties(const Ties& ties) {
    for (const SizeCondition& condition : ties.asks) suppose(condition);
  }

  // The largest number that the call mentions: thresholds lie there.
  int64_t largest_number() const {
    int64_t largest = 64;
    auto note = [&](int64_t n) {
      if (n < (int64_t{1} << 24)) largest = std::max(largest, n);
    };
    for (const c10::IValue& value : arguments_) {
      if (value.isInt()) note(value.toInt());
      if (value.isList())
        for (const c10::IValue& item : value.toListRef())
          if (item.isInt()) note(item.toInt());
    }
    for (const at::Tensor* tensor : tensors_)
      if (tensor->defined())
        for (const int64_t size : FakeLayout::of(*tensor).sizes) note(size);
    return largest;
  }

  // The k-th other assignment: small and large numbers, odd and even, in either order.
  Values probe(size_t k, const Ties& ties, int64_t large) const {
    static constexpr int64_t kNumbers[] = {5, 12, 7, 18, 11, 26, 33, 14, 9, 40, 23, 6, 17, 28, 13, 52};
    Values values = hints_;
    for (size_t i = 0; i < symbols_.size(); ++i) {
      const size_t place = (3 * k + (k % 2 ? 5 * (symbols_.size() - i) : 5 * i)) % std::size(kNumbers);
      values[symbols_[i]] = kNumbers[place] + (k % 4 >= 2 ? 2 * large : 0) + static_cast<int64_t>(k / 4);
    }
    for (const auto& [symbol, expression] : ties.symbols)
      values[symbol] = evaluate(expression, values).value_or(hints_[symbol]);
    return values;
  }

  static bool has_same_structure(const MetadataResult& a, const MetadataResult& b) {
    if (a.tensors.size() != b.tensors.size() || a.returns.size() != b.returns.size()) return false;
    for (size_t i = 0; i < a.tensors.size(); ++i) {
      const TensorResult &x = a.tensors[i], &y = b.tensors[i];
      if (x.kind != y.kind || x.source != y.source || x.layout.dtype != y.layout.dtype ||
          x.layout.sizes.size() != y.layout.sizes.size() || x.layout.conjugate != y.layout.conjugate ||
          x.layout.negative != y.layout.negative)
        return false;
    }
    for (size_t i = 0; i < a.returns.size(); ++i) {
      const ReturnShape &x = a.returns[i], &y = b.returns[i];
      if (x.kind != y.kind || x.count != y.count) return false;
      if (x.kind == ReturnShape::Kind::Value && !(x.value == y.value)) return false;
    }
    return true;
  }

  // True if all results are expressions while symbols vary but for these. Asks what makes them so.
  bool fit(const Ties& ties) {
    std::vector<Values> samples = {hints_};
    std::vector<MetadataResult> results = {result_};
    const int64_t large = largest_number();
    for (size_t k = 0; k < kProbes; ++k) {
      Values values = probe(k, ties, large);
      const std::optional<CallAt> call = CallAt::of(arguments_, tensors_, values);
      if (!call) continue;
      try {
        MetadataResult result = call->run(op_, info_).result;
        if (!has_same_structure(result_, result)) return false;
        results.push_back(std::move(result));
        samples.push_back(std::move(values));
      } catch (const std::bad_alloc&) {
        throw;
      } catch (...) {  // not with such sizes
        continue;
      }
    }
    if (samples.size() < kFewestProbes) return false;
    ExpressionFit fit(std::move(samples));
    add_candidates(fit);
    std::vector<std::optional<SymbolicLayout>> layouts(result_.tensors.size());
    for (size_t i = 0; i < result_.tensors.size(); ++i) {
      const TensorResult::Kind kind = result_.tensors[i].kind;
      if (kind == TensorResult::Kind::Argument || kind == TensorResult::Kind::Earlier ||
          kind == TensorResult::Kind::Undefined)
        continue;
      layouts[i] = fit_layout(fit, results, i);
      if (!layouts[i]) return false;
    }
    std::vector<SizeCondition> exceptions;
    if (!unknown_.empty() && !holds_when_small(layouts, ties, exceptions)) return false;
    suppose_ties(ties);
    for (const SizeCondition& condition : exceptions) suppose(condition);
    for (size_t i = 0; i < layouts.size(); ++i)
      if (layouts[i]) specialize(result_.tensors[i], std::move(*layouts[i]));
    return true;
  }

  // Assignments of small numbers to the unknown ones, all others being as in a probe.
  std::vector<Values> small_values(const Ties& ties) const {
    static constexpr int64_t kSmall = 4, kNegative[] = {-1, -2, -7, -50};
    std::vector<Values> all;
    const auto add = [&](Values values) {
      for (const auto& [symbol, expression] : ties.symbols)
        values[symbol] = evaluate(expression, values).value_or(hints_[symbol]);
      all.push_back(std::move(values));
    };
    const Values others = probe(0, ties, 0);
    for (const int32_t one : unknown_) {
      for (int64_t v = 0; v < kSmall; ++v) {
        Values values = others;
        values[one] = v;
        add(values);
        if (trace_.ranges()[one].lower < 0) {
          Values below = others;
          below[one] = kNegative[v];
          add(below);
        }
        if (unknown_.size() != 2) continue;
        for (int64_t w = 0; w < kSmall; ++w) {
          values[one == unknown_[0] ? unknown_[1] : unknown_[0]] = w;
          add(values);
        }
      }
    }
    for (int64_t v = 0; v < 2; ++v) {
      Values values = others;
      for (const int32_t one : unknown_) values[one] = v;
      add(values);
    }
    return all;
  }

  // True if a result is as the layout says. Of what has no elements, or but one in a dimension, strides say nothing.
  static bool is_as_expected(const SymbolicLayout& layout, const FakeLayout& result, const Values& values) {
    bool is_empty = false;
    for (size_t d = 0; d < result.sizes.size(); ++d) {
      if (evaluate(layout.sizes[d], values) != result.sizes[d]) return false;
      is_empty |= result.sizes[d] == 0;
    }
    if (is_empty) return true;
    for (size_t d = 0; d < result.sizes.size(); ++d)
      if (result.sizes[d] != 1 && evaluate(layout.strides[d], values) != result.strides[d]) return false;
    return evaluate(layout.offset, values) == result.offset;
  }

  // Unknown sizes may be 0 and 1, too. Where an operator refuses these, or computes something else, the graph is to be
  // for the others alone: `exceptions`. False: that is not the whole difference.
  bool holds_when_small(const std::vector<std::optional<SymbolicLayout>>& layouts, const Ties& ties,
                        std::vector<SizeCondition>& exceptions) const {
    std::vector<Values> failed;
    for (const Values& values : small_values(ties)) {
      const std::optional<CallAt> call = CallAt::of(arguments_, tensors_, values);
      if (!call) continue;
      bool is_good = false;
      try {
        const MetadataResult result = call->run(op_, info_).result;
        is_good = has_same_structure(result_, result);
        for (size_t i = 0; is_good && i < layouts.size(); ++i)
          is_good = !layouts[i] || is_as_expected(*layouts[i], result.tensors[i].layout, values);
      } catch (const std::bad_alloc&) {
        throw;
      } catch (...) {  // it is an error
      }
      if (!is_good) failed.push_back(values);
    }
    for (const Values& values : failed) {
      const auto is_excepted = [&](const SizeCondition& condition) {
        const std::optional<int64_t> value = evaluate(condition.expression, values);
        return value && !holds(condition.relation, *value);
      };
      if (std::ranges::any_of(exceptions, is_excepted)) continue;
      bool is_explained = false;
      for (const Expression e : numbers_) {
        const std::optional<int64_t> value = trace_.is_unknown(e) ? evaluate(e, values) : std::nullopt;
        if (!value || *value > 1) continue;
        exceptions.push_back(*value < 0 ? is_less_equal(constant(0), e) : is_equal(e, constant(*value)).negated());
        is_explained = true;
        break;
      }
      if (!is_explained) return false;
    }
    return true;
  }

  void add_candidates(ExpressionFit& fit) const {
    for (const Expression e : numbers_) fit.add_candidate(e);
    for (const at::Tensor* tensor : tensors_) {
      const SymbolicFake* symbolic = SymbolicFake::of(*tensor);
      if (!symbolic) continue;
      Expression all = constant(1), from_front = constant(1), from_end = constant(1);
      const auto& sizes = symbolic->symbols()->sizes;
      for (size_t i = 0; i < sizes.size(); ++i) {
        from_front = from_front * sizes[i], from_end = from_end * sizes[sizes.size() - 1 - i];
        fit.add_candidate(from_front);
        fit.add_candidate(from_end);
        all = all * sizes[i];
      }
    }
    Expression product = constant(1);  // product of the numbers in a list, which is a shape
    for (const c10::IValue& argument : arguments_) {
      if (!argument.isList()) continue;
      for (const c10::IValue& item : argument.toListRef()) {
        if (item.isSymInt())
          product = product * expression_of(item.toSymInt());
        else if (item.isInt() && item.toInt() > 0)
          product = product * constant(item.toInt());
      }
      fit.add_candidate(product);
    }
  }

  static std::optional<SymbolicLayout> fit_layout(ExpressionFit& fit, const std::vector<MetadataResult>& results,
                                                  size_t number) {
    auto find = [&](auto number_in) {
      std::vector<int64_t> numbers;
      for (const MetadataResult& result : results) numbers.push_back(number_in(result.tensors[number].layout));
      return fit.find(numbers);
    };
    const FakeLayout& now = results[0].tensors[number].layout;
    SymbolicLayout layout;
    for (size_t d = 0; d < now.sizes.size(); ++d) {
      const std::optional<Expression> size = find([d](const FakeLayout& at) { return at.sizes[d]; });
      if (!size) return std::nullopt;
      layout.sizes.push_back(*size);
    }
    // Innermost first: a stride is often a size times the stride before.
    std::vector<size_t> order(now.sizes.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = order.size() - 1 - i;
    std::ranges::stable_sort(order, {}, [&](size_t d) { return now.strides[d]; });
    layout.strides.resize(now.sizes.size());
    for (const size_t d : order) {
      const std::optional<Expression> stride = find([d](const FakeLayout& at) { return at.strides[d]; });
      if (!stride) return std::nullopt;
      layout.strides[d] = *stride;
      fit.add_candidate(*stride * layout.sizes[d]);
    }
    const std::optional<Expression> offset = find([](const FakeLayout& at) { return at.offset; });
    if (!offset) return std::nullopt;
    layout.offset = *offset;
    return layout;
  }
};

}  // namespace

bool stands_for_symbolic_number(const at::Tensor& tensor) {
  return tensor.defined() && tensor.unsafeGetTensorImpl()->is_wrapped_number() &&
         tensor.unsafeGetTensorImpl()->pyobj_slot()->load_pyobj();
}

bool has_symbols(Arguments arguments, Tensors tensors) {
  if (!current_trace_sizes()) return false;
  bool has = std::ranges::any_of(tensors, [](const at::Tensor* tensor) {
    return SymbolicFake::of(*tensor) != nullptr || stands_for_symbolic_number(*tensor);
  });
  for (const c10::IValue& argument : arguments) each_number(argument, [&](Expression) { has = true; });
  return has;
}

std::vector<c10::IValue> with_hints(Arguments arguments) {
  const TraceSizes& trace = *current_trace_sizes();
  std::vector<c10::IValue> hints;
  for (const c10::IValue& value : arguments)
    hints.push_back(replaced(value, [&](Expression e) { return trace.value_of(e); }));
  return hints;
}

std::optional<MetadataResult> symbolic_metadata(const c10::OperatorHandle& op, const OperatorInfo& info,
                                                Arguments arguments, Tensors tensors) {
  return Propagation(op, info, arguments, tensors).run();
}

void specialize_all(Arguments arguments, Tensors tensors) {
  TraceSizes& trace = *current_trace_sizes();
  auto specialize = [&](Expression e) { trace.specialize(e); };
  for (const at::Tensor* tensor : tensors)
    if (const SymbolicFake* symbolic = SymbolicFake::of(*tensor)) each_number(*symbolic->symbols(), specialize);
  for (const c10::IValue& argument : arguments) each_number(argument, specialize);
}

}  // namespace minidynamo
